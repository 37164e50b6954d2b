import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy whose address exists before that of its target, and that a test can cut, as a lost connection or a killed API does. */
export interface CuttableProxy {
  readonly url: string;
  /** Sets the target. Before that, the proxy closes every connection. */
  lead(to: { readonly port: number }): void;
  /** Ends all connections and refuses new ones. */
  cut(): void;
  resume(): void;
  close(): Promise<void>;
}

export async function startProxy(): Promise<CuttableProxy> {
  const sockets = new Set<Socket>();
  let target: { readonly port: number } | null = null;
  let isCut = false;
  const server = createServer((socket) => {
    if (target === null || isCut) return void socket.destroy();
    const upstream = connect(target.port, '127.0.0.1');
    for (const one of [socket, upstream]) {
      sockets.add(one);
      one.on('error', () => one.destroy());
      one.on('close', () => {
        sockets.delete(one);
        socket.destroy();
        upstream.destroy();
      });
    }
    socket.pipe(upstream).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    lead(to) {
      target = to;
    },
    cut() {
      isCut = true;
      endAll();
    },
    resume() {
      isCut = false;
    },
    async close() {
      endAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
