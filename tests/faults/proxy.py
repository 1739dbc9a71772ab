"""A way between two processes that can be cut or slowed down: a TCP proxy on loopback."""

import asyncio
import threading
from contextlib import suppress
from typing import Self

CHUNK_BYTES = 65536
STARTS_WITHIN_S = 5.0


class Proxy:
    """Passes bytes on from a port of its own to another port of this machine; runs in a thread."""

    def __init__(self, to_port: int) -> None:
        self.to_port, self.port = to_port, 0
        self.delay_s, self.is_cut = 0.0, False
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        started = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop)
        self._server = started.result(STARTS_WITHIN_S)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(STARTS_WITHIN_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STARTS_WITHIN_S)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(waiting, timeout=1) if waiting else None

    def cut(self) -> None:
        """Reset every connection, and each new one, until `mend`."""
        self.is_cut = True
        self._loop.call_soon_threadsafe(self._reset)

    def mend(self) -> None:
        """Pass everything on again, without delay."""
        self.is_cut, self.delay_s = False, 0.0

    def _reset(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            return writer.transport.abort()
        try:
            back, forth = await asyncio.open_connection("127.0.0.1", self.to_port)
        except OSError:
            return writer.transport.abort()
        self._open |= {writer, forth}
        try:
            await asyncio.gather(self._pass_on(reader, forth), self._pass_on(back, writer))
        finally:
            self._open -= {writer, forth}
        return None

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while read := await reader.read(CHUNK_BYTES):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                writer.write(read)
                await writer.drain()
        with suppress(OSError):
            writer.close()
