import { join } from 'node:path';
import { startLocalnet, writePrivateFile } from './localnet.ts';

/**
 * Runs a localnet and prints its URL when it is ready. Writes the environment variables with which Coinop uses the localnet, including the signing
 * keys, to `env.json` (mode 0600) in LOCALNET_FOLDER.
 */
const folder = process.env.LOCALNET_FOLDER;
if (!folder) throw new Error('LOCALNET_FOLDER must be set to the data folder of the cluster');

const number = (name: string, fallback: number, min: number): number => {
  const value = process.env[name] ? Number(process.env[name]) : fallback;
  if (!Number.isInteger(value) || value < min) throw new Error(`${name} must be a whole number of at least ${min}`);
  return value;
};

const localnet = await startLocalnet({
  folder,
  host: process.env.LOCALNET_HOST || '127.0.0.1',
  port: number('LOCALNET_PORT', 0, 0),
  secondPort: number('LOCALNET_SECOND_PORT', 0, 0),
  ...(process.env.LOCALNET_CREDITS_PER_SECOND ? { creditsPerSecond: number('LOCALNET_CREDITS_PER_SECOND', 0, 1) } : {}),
  ...(process.env.LOCALNET_CONGESTION ? { market: { median: number('LOCALNET_CONGESTION', 0, 1) } } : {}),
  slotMs: number('LOCALNET_SLOT_MS', 400, 1),
  confirmedAfter: number('LOCALNET_CONFIRMED_AFTER', 1, 0),
  finalizedAfter: number('LOCALNET_FINALIZED_AFTER', 32, 1),
  beaconMs: number('LOCALNET_BEACON_MS', 3_000, 1),
});
writePrivateFile(join(folder, 'env.json'), localnet.env);
console.log(JSON.stringify({ ready: true, url: localnet.url }));

let stopping = false;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (stopping) return;
    stopping = true;
    localnet.close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
}
