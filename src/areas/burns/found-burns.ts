import type { Connection } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { readBurns } from '#platform/solana/burn-instructions.ts';
import { rpc } from '#platform/solana/solana.ts';
import { credit, type FinalBurns } from './credit.ts';
import type { Source } from './schemas.ts';

/** Transactions that are credited at once, batches of one run, and reads at once. */
const BATCH = 50;
const MOST_BATCHES = 10;
const READS_AT_ONCE = 8;

interface Taken {
  readonly signature: string;
  readonly slot: number;
  /** No node has told of it for a day. */
  readonly hopeless: boolean;
}
// Taken for 2 s, and longer each time: whoever is killed, or finds nothing, leaves it to a later run.
const take = statement<Taken>(
  'take_burn_transactions',
  `update burn_transactions set tries = tries + 1, next_at = app_now() + interval '2 seconds' * power(2, least(tries, 5))
   where signature = any(array(
     select signature from burn_transactions where mint = $1 and read_at is null and next_at <= app_now()
     order by likely desc, slot limit ${BATCH} for update skip locked))
   returning signature, slot::float8 as slot, found_at <= app_now() - interval '1 day' as hopeless`,
);

const MEMO = /^burn:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(referral|game|social)$/;

/** The event and the source that a transaction's memos name: exactly one of them may mean a burn. */
export function namedBy(memos: readonly string[]): FinalBurns['names'] {
  const meant = memos.filter((memo) => memo.startsWith('burn:'));
  const [, event, source] = (meant.length === 1 && MEMO.exec(meant[0] ?? '')) || [];
  return event && source ? { event, source: source as Source } : null;
}

async function readOne(app: App, mint: string, signature: string, slot: number): Promise<FinalBurns | null> {
  const read = (node: Connection) => rpc(() => node.getTransaction(signature, { commitment: 'finalized', maxSupportedTransactionVersion: 1 }));
  const found = (await read(app.chain.connection)) ?? (app.chain.second && (await read(app.chain.second)));
  const about = found && readBurns(found, mint);
  return about && { signature, slot, at: about.at, names: namedBy(about.memos), burns: about.burns };
}

/** Reads transactions, some at once. What cannot be read is left to a later run; what the nodes do not have for a day is given up. */
async function readAll(app: App, mint: string, taken: readonly Taken[]): Promise<{ read: FinalBurns[]; failures: unknown[] }> {
  const read: FinalBurns[] = [];
  const failures: unknown[] = [];
  const next = taken.values();
  const readOn = async () => {
    for (const { signature, slot, hopeless } of next) {
      const found = await readOne(app, mint, signature, slot);
      if (found) read.push(found);
      else if (hopeless) {
        app.log.error({ signature }, 'a transaction that may hold a burn cannot be read');
        read.push({ signature, slot, at: 0, names: null, burns: [] });
      }
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, () => readOn().catch((error: unknown) => failures.push(error))));
  return { read, failures };
}

/**
 * Reads transactions that may hold burns, those first whose memos say so and the oldest first, and credits what they hold.
 * @throws what kept one from being read, after the others are credited
 */
export async function readFound(app: App, mint: string): Promise<void> {
  for (let batch = 0; batch < MOST_BATCHES; batch++) {
    const taken = await app.tx((tx) => tx.query(take, [mint]));
    const { read, failures } = await readAll(app, mint, taken);
    await credit(app, mint, read);
    if (failures.length > 0) throw failures[0];
    if (taken.length < BATCH) return;
  }
}
