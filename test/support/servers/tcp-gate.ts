import { connect, createServer, type Socket } from 'node:net';

/** A way to a server that tests can shut or block: connections through it end, or hang. */
export interface Gate {
  readonly port: number;
  /** Ends the connections there are; new ones are refused. */
  shut(): Promise<void>;
  /** Lets bytes through no more, and says nothing. */
  block(): void;
  open(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a way to a server.
 * @param target the path of its unix socket
 */
export async function openGate(target: string): Promise<Gate> {
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
