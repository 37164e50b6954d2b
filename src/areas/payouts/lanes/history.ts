import { ComputeBudgetProgram, PublicKey, SystemProgram, type VersionedTransactionResponse } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { instructionsOf } from '#platform/solana/instructions.ts';
import { rpc } from '#platform/solana/solana.ts';
import { MEMO_PROGRAM, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { readPayoutMemo } from '../batches/members.ts';
import type { Lane } from './rows.ts';

/** Signatures of a page, pages of one look, and transactions that one look reads. */
const PAGE = 1_000;
const MOST_PAGES = 20;
const MOST_READ = 100;
const READ_AT_ONCE = 8;

const SYSTEM = SystemProgram.programId.toBase58();
const TOKENS = TOKEN_PROGRAM.toBase58();
const MEMOS = MEMO_PROGRAM.toBase58();
const COMPUTE_BUDGET = ComputeBudgetProgram.programId.toBase58();

/** The numbers of the instructions that are read: of the system program, and of the token program. */
const ADVANCE_NONCE = 4;
const TRANSFER_CHECKED = 12;

/** Tokens that a transaction moves, as its instruction says. */
export interface Transfer {
  readonly to: string;
  readonly mint: string;
  /** Base units, as text. */
  readonly amount: string;
}

/** A finalized transaction that names a lane's nonce account and is not in our record: read once, and kept. */
export interface Finding {
  readonly signature: string;
  readonly slot: number;
  /** The value that it used up; null where it used none. */
  readonly nonce: string | null;
  /** What it says to be, where it has the memo of a batch. */
  readonly memo: { readonly batch: string; readonly hash: string } | null;
  readonly transfers: readonly Transfer[];
  /** Why it needs no matching; null where it does. */
  readonly harmless: string | null;
}

/** A use of a lane's nonce, by an attempt of ours or by a finding. */
export interface Use {
  readonly signature: string;
  readonly slot: number;
  readonly nonce: string;
  readonly by: 'us' | 'finding';
  /** Whether our books have closed over it, or it needs no more looking into. */
  readonly settled: boolean;
}

/** What used a lane's nonces since the last known landing, oldest first, and what was found that we had not seen. */
export interface History {
  readonly uses: readonly Use[];
  readonly fresh: readonly Finding[];
  /** Whether that is all. What is fresh is kept, and the next look gets further. */
  readonly complete: boolean;
}

const knownAttempts = statement<{ signature: string; nonce: string | null; state: string }>(
  'known_attempts_of_lane',
  // What was taken for dead and landed all the same is as if it were not known.
  `select signature, case when nonce_account = $2 then nonce end as nonce, state from chain_attempts
   where signature = any($1::text[]) and state <> 'dead'`,
);
const knownFindings = statement<{ signature: string; nonce: string | null; verdict: string }>(
  'known_payout_findings',
  'select signature, nonce, verdict from payout_findings where signature = any($1::text[])',
);

/** Reads a transaction as far as it concerns a lane. */
export function readFinding(address: PublicKey, signature: string, found: VersionedTransactionResponse): Finding {
  const instructions = instructionsOf(found);
  const [first] = instructions;
  const advances =
    first?.program === SYSTEM && first.data.length >= 4 && first.data.readUInt32LE(0) === ADVANCE_NONCE && first.accounts[0] === address.toBase58();
  const transfers = instructions.flatMap(({ program, accounts, data }): Transfer[] => {
    const [, mint, to] = accounts;
    const isTransfer = program === TOKENS && data[0] === TRANSFER_CHECKED && data.length === 10;
    return isTransfer && mint && to ? [{ to, mint, amount: String(data.readBigUInt64LE(1)) }] : [];
  });
  const memos = instructions.flatMap(({ program, data }) => (program === MEMOS ? [readPayoutMemo(data.toString('utf8'))] : []));
  const memo = memos.find((one) => one !== null) ?? null;
  const nonce = advances ? found.transaction.message.recentBlockhash : null;
  const movesNothing = instructions.every(({ program }, i) => (advances && i === 0) || program === MEMOS || program === COMPUTE_BUDGET);
  const harmless = nonce === null ? 'it uses no nonce' : found.meta?.err ? 'it landed as an error' : movesNothing ? 'it only uses the nonce' : null;
  return { signature, slot: found.slot, nonce, memo, transfers, harmless };
}

/**
 * What happened on a lane since its last known landing, at finalized. Anybody can name an account in a transaction of
 * theirs; only the fee payer can use its nonce.
 * @param slot the node must know the chain up to here
 */
export async function historyOf(app: App, lane: Lane, slot: number): Promise<History> {
  const listed = await list(app, lane, slot);
  if (listed === null) return { uses: [], fresh: [], complete: false };
  const signatures = listed.map(({ signature }) => signature);
  const [attempts, findings] = await Promise.all([
    app.db.query(knownAttempts, [signatures, lane.address]),
    app.db.query(knownFindings, [signatures]),
  ]);
  const known = new Map<string, Pick<Use, 'by' | 'settled'> & { nonce: string | null }>();
  for (const { signature, nonce, verdict } of findings) known.set(signature, { nonce, by: 'finding', settled: verdict !== 'unmatched' });
  for (const { signature, nonce, state } of attempts) {
    known.set(signature, { nonce, by: 'us', settled: state === 'finalized' || state === 'failed' });
  }
  const unknown = listed.filter(({ signature }) => !known.has(signature));
  const fresh = await readAll(app, new PublicKey(lane.address), unknown.slice(0, MOST_READ));
  for (const { signature, nonce, harmless } of fresh) known.set(signature, { nonce, by: 'finding', settled: harmless !== null });
  const uses = listed.flatMap(({ signature, slot: at }): Use[] => {
    const { nonce, by, settled } = known.get(signature) ?? { nonce: null, by: 'finding', settled: false };
    return nonce === null ? [] : [{ signature, slot: at, nonce, by, settled }];
  });
  // Each account has at least the transaction that made it.
  const isPlausible = listed.length > 0 || lane.nonce !== null;
  return { uses, fresh, complete: isPlausible && fresh.length === unknown.length };
}

interface Listed {
  readonly signature: string;
  readonly slot: number;
}

/** Signatures since the last known landing, oldest first; null where there are more than may be listed. */
async function list(app: App, lane: Lane, minContextSlot: number): Promise<Listed[] | null> {
  const found: Listed[] = [];
  let before: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const options = { limit: PAGE, minContextSlot, ...(before ? { before } : {}), ...(lane.landed ? { until: lane.landed } : {}) };
    const rows = await rpc(() => app.chain.connection.getSignaturesForAddress(new PublicKey(lane.address), options, 'finalized'));
    // A nonce is used once in a slot at most.
    const recent = rows.filter((row) => row.slot > lane.landedSlot);
    found.push(...recent.map(({ signature, slot }) => ({ signature, slot })));
    if (rows.length < PAGE || recent.length < rows.length) return found.reverse();
    before = rows.at(-1)?.signature;
  }
  return null;
}

/** Reads transactions; those that the node does not have are left out. */
async function readAll(app: App, address: PublicKey, unknown: readonly Listed[]): Promise<Finding[]> {
  const options = { commitment: 'finalized' as const, maxSupportedTransactionVersion: 1 };
  const findings: Finding[] = [];
  const next = unknown.values();
  await Promise.all(
    Array.from({ length: Math.min(READ_AT_ONCE, unknown.length) }, async () => {
      for (const { signature } of next) {
        const found = await rpc(() => app.chain.connection.getTransaction(signature, options));
        if (found) findings.push(readFinding(address, signature, found));
      }
    }),
  );
  return findings;
}
