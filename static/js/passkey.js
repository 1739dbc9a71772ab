// Forms that a passkey signs: data-passkey is "create" for a new one and "get" for one that is there;
// data-passkey-options holds the id of the JSON to sign, data-passkey-from the address that answers it.
(() => {
  const optionsOf = async (form) => {
    if (form.dataset.passkeyOptions) {
      return JSON.parse(document.getElementById(form.dataset.passkeyOptions).textContent).publicKey;
    }
    const answer = await fetch(form.dataset.passkeyFrom, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(answer.status);
    return (await answer.json()).request_options.publicKey;
  };

  // One that logs in alone is stored on the device, and asks who holds it.
  const created = async (form, options) => {
    if (form.elements.passwordless?.checked) {
      options.authenticatorSelection = {
        ...options.authenticatorSelection,
        residentKey: "required",
        requireResidentKey: true,
        userVerification: "required",
      };
    }
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    return navigator.credentials.create({ publicKey });
  };

  const signed = async (options) => {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    return navigator.credentials.get({ publicKey });
  };

  const reasonOf = (error) => {
    if (error.name === "InvalidStateError") return gettext("This device is among your passkeys already.");
    if (error.name === "SecurityError")
      return gettext("Passkeys need the panel’s host name in the address, and https.");
    if (error.name === "NotAllowedError") return gettext("No passkey was used: it took too long, or was refused.");
    return gettext("This browser can’t use passkeys here.");
  };

  // Enter in a field of the page, and whoever fills it in by a program, means the one button that submits.
  document.addEventListener("click", (event) => {
    event.target.closest("[data-passkey-start]")?.form.requestSubmit();
  });

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.dataset.passkey) return;
    event.preventDefault();
    const told = form.querySelector("[data-passkey-error]");
    told.textContent = "";
    try {
      const options = await optionsOf(form);
      const credential = form.dataset.passkey === "create" ? await created(form, options) : await signed(options);
      form.elements.credential.value = JSON.stringify(credential.toJSON());
      form.submit();
    } catch (error) {
      told.textContent = reasonOf(error);
    }
  });
})();
