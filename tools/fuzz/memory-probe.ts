/**
 * This module is loaded into an API or worker process before the other modules of this process, with --expose-gc. On SIGUSR2 it collects garbage and
 * prints the memory in use, bytes.
 */

const collect: unknown = Reflect.get(globalThis, 'gc');

process.on('SIGUSR2', async () => {
  // Collects garbage three times, because objects with finalizers or weak references release memory only in later collections.
  for (let i = 0; i < 3; i++) {
    if (typeof collect === 'function') collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ level: 'info', inUse: heapUsed + external })}\n`);
});
