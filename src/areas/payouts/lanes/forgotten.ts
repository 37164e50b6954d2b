import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { decodeNonce } from '#platform/solana/system-program.ts';
import { laneAddress } from './account.ts';

/** Number of lanes that are read: the maximum of PAYOUT_LANES, so that one RPC request reads all. */
const MAX_LANES = 64;

const selectOpened = statement<{ subject: string }>(
  'select_opened_payout_lanes',
  `select subject from chain_transactions where kind = 'open-payout-lane' and subject = any($1::text[])`,
);

/**
 * Returns the lanes of the present fee payer that exist on the chain although the database has not opened them. Only this key can open such an account,
 * so the key was used with a newer state of the database, or with another database.
 * @throws 503 when the RPC node does not answer
 */
export async function findForgottenLanes(app: App): Promise<number[]> {
  if (app.config.chain.secrets.feePayer === null) return [];
  const feePayer = app.chain.key('feePayer').publicKey;
  const addresses = Array.from({ length: MAX_LANES }, (_, lane) => laneAddress(feePayer, lane));
  const { accounts } = await app.chain.node.accounts(addresses, 'finalized');
  const existing = addresses.flatMap((address, lane) =>
    decodeNonce(accounts[lane] ?? null) ? [{ lane, subject: `${lane}:${address.toBase58()}` }] : [],
  );
  const rows = await app.db.query(selectOpened, [existing.map(({ subject }) => subject)]);
  const opened = new Set(rows.map(({ subject }) => subject));
  return existing.filter(({ subject }) => !opened.has(subject)).map(({ lane }) => lane);
}
