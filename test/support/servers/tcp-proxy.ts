import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { steadyPorts } from '#dev/stack/ports.ts';

/** A TCP proxy to a server. Tests can close its connections, or make them hang. */
export interface TcpProxy {
  readonly port: number;
  /** Closes all connections and rejects new ones. */
  shut(): Promise<void>;
  /** Stops forwarding bytes and keeps the connections open. */
  block(): void;
  /** Forwards bytes and accepts connections again. */
  open(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a proxy.
 * @param target path of the server's unix socket
 * @param changeReply function that changes the bytes that the server has sent, before the client gets them
 */
export async function openTcpProxy(target: string, changeReply: (bytes: Buffer) => Buffer = (bytes) => bytes): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let isBlocked = false;
  const server = createServer((near) => {
    const far = connect(target);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => isBlocked || to.write(from === far ? changeReply(chunk) : chunk));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const listen = async (port: number): Promise<void> => {
    const listening = once(server, 'listening');
    server.listen(port, '127.0.0.1');
    await listening;
  };
  const shut = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  const [port = 0] = await steadyPorts(1);
  await listen(port);
  return {
    port,
    shut,
    block: () => {
      isBlocked = true;
    },
    async open() {
      isBlocked = false;
      if (!server.listening) await listen(port);
    },
    close: async () => {
      if (server.listening) await shut();
    },
  };
}
