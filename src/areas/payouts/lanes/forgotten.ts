import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { laneAddress } from '#platform/solana/nonce-lanes.ts';
import type { Address } from '#platform/solana/primitives.ts';
import { decodeNonce } from '#platform/solana/system-program.ts';
import { opensLane } from './unknown-transaction.ts';

/** Number of lanes that are read: the maximum of PAYOUT_LANES, so that one RPC request reads all. */
const MAX_LANES = 64;
/** Maximum number of transactions of a lane that are read. A lane with more counts as used. */
const MAX_READ = 20;

const selectOpened = statement<{ subject: string }>(
  'select_opened_payout_lanes',
  `select subject from chain_transactions where kind = 'open-payout-lane' and subject = any($1::text[])`,
);

/**
 * Returns the lanes of the present fee payer that were used on the chain although the database has not opened them. Only this key can use them, so it
 * was used with a newer state of the database, or with another database. A lane that was only opened does not count, because bin/deploy opens lanes too.
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
  const forgotten: number[] = [];
  for (const { lane, subject } of existing) {
    if (!opened.has(subject) && !(await isUnused(app, feePayer, laneAddress(feePayer, lane)))) forgotten.push(lane);
  }
  return forgotten;
}

/**
 * Returns whether the opening is the only successful transaction of the fee payer that names the nonce account of a lane, so that no payment can have
 * used the lane. Anybody can send transactions that name the account, and a repeated opening fails.
 */
async function isUnused({ chain: { node } }: App, feePayer: Address, address: Address): Promise<boolean> {
  const listed = await node.history(address, { limit: MAX_READ }, 'finalized');
  if (listed.length === MAX_READ) return false;
  let isOpened = false;
  for (const { signature, failed } of listed) {
    if (failed) continue;
    const transaction = await node.transaction(signature, 'finalized');
    if (transaction === null) return false;
    if (opensLane({ address: address.toBase58() }, transaction)) isOpened = true;
    else if (transaction.signers.includes(feePayer.toBase58())) return false;
  }
  return isOpened;
}
