/**
 * Loaded into a process under attack before its own modules, with --expose-gc: on SIGUSR2 it logs what is in use once everything that nobody
 * holds any more is gone, bytes.
 */
const collect: unknown = Reflect.get(globalThis, 'gc');

process.on('SIGUSR2', async () => {
  // What finalizers and weak references hold goes with the collections after.
  for (let i = 0; i < 3; i++) {
    if (typeof collect === 'function') collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ level: 'info', inUse: heapUsed + external })}\n`);
});
