/** The functions of Django's JavaScript catalog, without translations; import it before a module that has texts. */
globalThis.gettext = (text) => text;
globalThis.ngettext = (one, many, count) => (count === 1 ? one : many);
globalThis.interpolate = (format, words) => format.replace(/%\(\w+\)s/g, (match) => String(words[match.slice(2, -2)]));
