import { parentPort, Worker } from 'node:worker_threads';

/** An object elsewhere: its methods, each of which answers later. */
export type Remote<T> = { readonly [K in keyof T]: T[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never };

interface Call {
  id: number;
  method: string;
  args: unknown[];
}
type Answer = { id: number; result: unknown } | { id: number; error: Error };

/** An object in a thread of its own. Calls run there one after the other. */
export interface Thread<T> {
  readonly remote: Remote<T>;
  close(): Promise<void>;
}

/**
 * Starts a thread that serves an object.
 * @param file the module that calls `serve` with it
 */
export function openThread<T extends object>(file: URL): Thread<T> {
  const worker = new Worker(file);
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  let calls = 0;
  let dead: Error | null = null;
  const end = (error: Error) => {
    dead ??= error;
    for (const { reject } of waiting.values()) reject(dead);
    waiting.clear();
  };
  worker.on('message', (answer: Answer) => {
    const asked = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('error' in answer) asked?.reject(answer.error);
    else asked?.resolve(answer.result);
  });
  worker.on('error', (error) => end(Error.isError(error) ? error : new Error('the thread failed', { cause: error })));
  worker.on('exit', () => end(new Error('the thread has ended')));
  const call = (method: string, args: unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      if (dead) return reject(dead);
      const id = calls++;
      waiting.set(id, { resolve, reject });
      worker.postMessage({ id, method, args } satisfies Call);
    });
  return { remote: remoteOf(call), close: async () => void (await worker.terminate()) };
}

/** The same without a thread: for work that is over before one would have started. */
export function withoutThread<T extends object>(object: T): Thread<T> {
  return { remote: remoteOf(async (method, args) => invoke(object, method, args)), close: async () => {} };
}

/** In a thread: answers the calls of whoever opened it. */
export function serve(object: object): void {
  parentPort?.on('message', async ({ id, method, args }: Call) => {
    try {
      const result = await invoke(object, method, args);
      parentPort?.postMessage({ id, result } satisfies Answer);
    } catch (error) {
      parentPort?.postMessage({ id, error: Error.isError(error) ? error : new Error(String(error)) } satisfies Answer);
    }
  });
}

function invoke(object: object, method: string, args: readonly unknown[]): unknown {
  const found: unknown = Reflect.get(object, method);
  if (typeof found !== 'function') throw new Error(`there is no method ${method}`);
  return Reflect.apply(found, object, args);
}

/** Methods are called by the names of T; nothing else is ever asked of it but `then`, by `await`, which it does not have. */
function remoteOf<T extends object>(call: (method: string, args: unknown[]) => Promise<unknown>): Remote<T> {
  const methods = { get: (_target: object, name: string) => (name === 'then' ? undefined : (...args: unknown[]) => call(name, args)) };
  return new Proxy({}, methods) as Remote<T>;
}
