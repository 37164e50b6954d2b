import { coalesce } from '#lib/concurrency/coalesce.ts';
import { gather } from '#lib/concurrency/gather.ts';
import { type App, perApp } from '#platform/app.ts';
import { pollTransactions } from './jobs.ts';
import { markSent, selectBytes } from './rows.ts';

/** Maximum concurrent sends per call. */
const MAX_CONCURRENT = 32;

/**
 * Sends attempts. The signed bytes are read from the database, so only committed attempts are sent. An attempt that the RPC node accepts is marked
 * `sent`. The response proves nothing more: a rejected attempt may still land through another node, and an accepted attempt may be dropped.
 * @param slot current slot, which is stored with the attempts as the slot of sending
 */
export async function send(app: App, signatures: readonly string[], slot: number): Promise<void> {
  if (signatures.length === 0) return;
  const rows = await app.db.query(selectBytes, [signatures]);
  const sent: string[] = [];
  const next = rows.values();
  await Promise.all(
    Array.from({ length: Math.min(MAX_CONCURRENT, rows.length) }, async () => {
      for (const { signature, bytes } of next) if (await sendOne(app, signature, bytes)) sent.push(signature);
    }),
  );
  if (sent.length > 0) await app.tx((tx) => tx.query(markSent, [sent, slot]));
}

/** Time for which accepted attempts are collected while none is being marked, ms. */
const COLLECT_MS = 10;

/** The reads and writes that attempts share which are sent at the same time. `mark` has one key per slot. */
const shared = perApp((app) => ({
  bytes: gather(async (signatures: readonly string[]) => {
    const rows = await app.db.query(selectBytes, [signatures]);
    return new Map(rows.map(({ signature, bytes }) => [signature, bytes]));
  }),
  mark: coalesce(
    async (sent: readonly [{ signature: string; slot: number }, ...{ signature: string; slot: number }[]]) => {
      await app.tx((tx) => tx.query(markSent, [sent.map(({ signature }) => signature), sent[0].slot]));
    },
    { collectMs: COLLECT_MS },
  ),
  poll: gather(() => app.queues.add([{ job: pollTransactions, payload: {} }]).catch(() => undefined)),
}));

/** Sends a new attempt as `send` does, together with others that are signed at the same time, and begins to poll. */
export async function sendNew(app: App, signature: string, slot: number): Promise<void> {
  const { bytes, mark, poll } = app.state(shared);
  const committed = (await bytes('', signature)).get(signature);
  const isAccepted = committed !== undefined && (await sendOne(app, signature, committed));
  await Promise.all([isAccepted ? mark(String(slot), { signature, slot }) : undefined, poll('', signature)]);
}

async function sendOne(app: App, signature: string, bytes: Buffer): Promise<boolean> {
  try {
    // Skips the preflight simulation, because the transaction was simulated before signing. In addition, a nonce transaction that fails must still
    // land, so that it advances its nonce.
    await app.chain.node.send(bytes, null);
    return true;
  } catch (err) {
    app.log.debug({ err, signature }, 'an RPC node did not accept a transaction; polling sends it again');
    return false;
  }
}
