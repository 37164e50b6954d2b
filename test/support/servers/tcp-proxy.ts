import { connect, createServer, type Socket } from 'node:net';

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
 */
export async function openTcpProxy(target: string): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let isBlocked = false;
  const server = createServer((near) => {
    const far = connect(target);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => isBlocked || to.write(chunk));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const shut = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  await listen(0);
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
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
