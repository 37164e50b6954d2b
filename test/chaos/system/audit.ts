import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { z } from 'zod';
import { withoutKeys } from '#dev/stack/localnet.ts';
import type { System } from '#dev/stack/system.ts';
import { addressOfKey } from '#test/support/solana/chain.ts';

const checkout = join(import.meta.dirname, '../../..');

const AuditOutput = z.object({
  checks: z.array(z.object({ name: z.string(), status: z.string(), differences: z.array(z.string()), failure: z.string().nullable() })),
});

/** Runs `bin/audit --all`, without signing keys. @returns one sentence per difference */
export async function audit({ env }: System): Promise<string[]> {
  const addressOf = (key: string) => addressOfKey(env[key]).toBase58();
  const addresses = { TREASURY_ADDRESS: addressOf('TREASURY_KEY'), COMMITTER_ADDRESS: addressOf('COMMITTER_KEY') };
  const { code, out, errorOutput } = await run({ ...withoutKeys(env), ...addresses });
  if (code === 0) return [];
  const output = AuditOutput.safeParse(parsed(out));
  if (!output.success) return [`the audit ended with ${code}: ${errorOutput.trim().slice(-1_000)}`];
  return output.data.checks.flatMap(({ name, status, differences, failure }) => {
    if (status === 'differs') return differences.map((difference) => `audit, ${name}: ${difference}`);
    return failure === null ? [] : [`audit, ${name}: could not be checked: ${failure}`];
  });
}

interface ProcessResult {
  readonly code: number;
  readonly out: string;
  readonly errorOutput: string;
}

const run = (env: NodeJS.ProcessEnv): Promise<ProcessResult> =>
  new Promise((resolve) => {
    const options = { env, cwd: checkout, maxBuffer: 16 * 1024 * 1024 };
    execFile(process.execPath, [join(checkout, 'tools/audit/main.ts'), '--all', '--json'], options, (error, out, errorOutput) =>
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, out, errorOutput }),
    );
  });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
