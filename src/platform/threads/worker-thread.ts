import { parentPort, type ResourceLimits, Worker } from 'node:worker_threads';

/** The methods of an object that runs in another thread. Each method returns a promise. */
export type Remote<T> = { readonly [K in keyof T]: T[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never };

interface ThreadCall {
  id: number;
  method: string;
  args: unknown[];
}
type ThreadReply = { id: number; result: unknown } | { id: number; error: Error };

/** A worker thread that serves an object. Synchronous methods of the object run one after the other. */
export interface Thread<T> {
  readonly remote: Remote<T>;
  /** Returns the CPU time that the thread has used, ms; 0 after its end. */
  cpuMs(): Promise<number>;
  close(): Promise<void>;
}

/**
 * Starts a worker thread that serves an object.
 * @param file the module that calls `serve` with the object
 * @param resourceLimits maximum memory of the thread; a thread that needs more exits, and its calls fail
 */
export function openThread<T extends object>(file: URL, resourceLimits: ResourceLimits = {}): Thread<T> {
  const worker = new Worker(file, { resourceLimits });
  const pending = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  let calls = 0;
  let failure: Error | null = null;
  const end = (error: Error) => {
    failure ??= error;
    for (const { reject } of pending.values()) reject(failure);
    pending.clear();
  };
  worker.on('message', (reply: ThreadReply) => {
    const entry = pending.get(reply.id);
    pending.delete(reply.id);
    if ('error' in reply) entry?.reject(reply.error);
    else entry?.resolve(reply.result);
  });
  worker.on('error', (error) => end(Error.isError(error) ? error : new Error('the worker thread failed', { cause: error })));
  worker.on('exit', () => end(new Error('the worker thread has exited')));
  const call = (method: string, args: unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      if (failure) return reject(failure);
      const id = calls++;
      pending.set(id, { resolve, reject });
      worker.postMessage({ id, method, args } satisfies ThreadCall);
    });
  return {
    remote: remoteOf(call),
    // Node.js rejects the call for a thread that has ended.
    cpuMs: () =>
      worker.cpuUsage().then(
        ({ user, system }) => (user + system) / 1_000,
        () => 0,
      ),
    close: async () => void (await worker.terminate()),
  };
}

/** Serves an object in the calling thread, for work that takes less time than starting a worker thread. */
export function withoutThread<T extends object>(object: T): Thread<T> {
  return { remote: remoteOf(async (method, args) => invoke(object, method, args)), cpuMs: async () => 0, close: async () => {} };
}

/** Serves an object inside a worker thread: runs its methods when the main thread calls them. */
export function serve(object: object): void {
  parentPort?.on('message', async ({ id, method, args }: ThreadCall) => {
    try {
      const result = await invoke(object, method, args);
      parentPort?.postMessage({ id, result } satisfies ThreadReply);
    } catch (error) {
      parentPort?.postMessage({ id, error: Error.isError(error) ? error : new Error(String(error)) } satisfies ThreadReply);
    }
  });
}

function invoke(object: object, method: string, args: readonly unknown[]): unknown {
  const found: unknown = Reflect.get(object, method);
  if (typeof found !== 'function') throw new Error(`the served object has no method ${method}`);
  return Reflect.apply(found, object, args);
}

/**
 * Creates a proxy that passes each method call to `call`. Its property `then` is undefined, so that `await` does not treat the proxy as a promise.
 */
function remoteOf<T extends object>(call: (method: string, args: unknown[]) => Promise<unknown>): Remote<T> {
  const methods = { get: (_target: object, name: string) => (name === 'then' ? undefined : (...args: unknown[]) => call(name, args)) };
  return new Proxy({}, methods) as Remote<T>;
}
