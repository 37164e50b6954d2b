import type { App } from '#platform/app.ts';
import { markSent, selectBytes } from './rows.ts';

/** How many transactions are being sent at once by one call. */
const AT_ONCE = 32;

/**
 * Sends attempts as they are committed: the bytes are read from the record, never from memory. What a node answers ends
 * no attempt: a refused one may have landed by another way, and an accepted one may be forgotten.
 * @param slot the slot that the sending counts from, for sending again
 */
export async function send(app: App, signatures: readonly string[], slot: number): Promise<void> {
  if (signatures.length === 0) return;
  const rows = await app.db.query(selectBytes, [signatures]);
  const sent: string[] = [];
  const next = rows.values();
  await Promise.all(
    Array.from({ length: Math.min(AT_ONCE, rows.length) }, async () => {
      for (const { signature, bytes } of next) if (await sendOne(app, signature, bytes)) sent.push(signature);
    }),
  );
  if (sent.length > 0) await app.tx((tx) => tx.query(markSent, [sent, slot]));
}

async function sendOne(app: App, signature: string, bytes: Buffer): Promise<boolean> {
  try {
    // Simulated before it was committed; and a batch that is refused has to land, for its nonce to advance.
    await app.chain.connection.sendRawTransaction(bytes, { skipPreflight: true, maxRetries: 0 });
    return true;
  } catch (err) {
    app.log.debug({ err, signature }, 'a node did not take a transaction');
    return false;
  }
}
