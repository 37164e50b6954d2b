import { z } from 'zod';
import { SYSTEM_ADMIN_TOKEN } from '#dev/stack/system.ts';

const Created = z.object({ id: z.string() });

/**
 * Creates and starts a chat round that accepts entries for `seconds`, at most 1,000 per wallet.
 * @returns id of the round
 */
export async function openRound(url: string, seconds: number): Promise<string> {
  const headers = { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}`, 'Content-Type': 'application/json' };
  const terms = { title: 'Bench', prizes: [{ amount: '5000000', mint: 'usdc' }], durationSec: seconds, maxEntriesPerWallet: 1_000 };
  const created = await fetch(`${url}/chat/round`, { method: 'POST', headers, body: JSON.stringify(terms) });
  const { id } = Created.parse(await created.json());
  const started = await fetch(`${url}/chat/round/${id}/start`, { method: 'POST', headers, body: '{}' });
  if (!started.ok) throw new Error(`the request to start the round returned ${started.status}: ${await started.text()}`);
  return id;
}
