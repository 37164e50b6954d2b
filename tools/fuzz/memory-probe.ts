/** Loaded into a target process before its modules, with --expose-gc: on SIGUSR2 it collects garbage and logs the memory in use, bytes. */
const collect: unknown = Reflect.get(globalThis, 'gc');

process.on('SIGUSR2', async () => {
  // Collects repeatedly, because finalizers and weak references release memory only in later collections.
  for (let i = 0; i < 3; i++) {
    if (typeof collect === 'function') collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ level: 'info', inUse: heapUsed + external })}\n`);
});
