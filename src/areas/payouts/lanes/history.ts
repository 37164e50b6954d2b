import { ComputeBudgetProgram, PublicKey, SystemProgram, type VersionedTransactionResponse } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { instructionsOf } from '#platform/solana/instructions.ts';
import { rpc } from '#platform/solana/solana.ts';
import { MEMO_PROGRAM, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { readPayoutMemo } from '../batches/members.ts';
import type { Lane } from './rows.ts';

/** Signatures per page. RPC nodes return at most 1,000 per request. */
const PAGE = 1_000;
const MAX_PAGES = 20;
/** Maximum transactions missing in the database that one reconciliation reads per lane. */
const MAX_READ = 100;
const MAX_CONCURRENT_READS = 8;

const SYSTEM = SystemProgram.programId.toBase58();
const TOKENS = TOKEN_PROGRAM.toBase58();
const MEMOS = MEMO_PROGRAM.toBase58();
const COMPUTE_BUDGET = ComputeBudgetProgram.programId.toBase58();

/** Number of the instruction AdvanceNonceAccount in the system program. */
const ADVANCE_NONCE = 4;
/** Number of the instruction TransferChecked in the token program. */
const TRANSFER_CHECKED = 12;

/** A token transfer, as the instruction TransferChecked gives it. */
export interface Transfer {
  readonly to: string;
  readonly mint: string;
  /** Amount in base units, as text. */
  readonly amount: string;
}

/**
 * A finalized transaction that names the nonce account of a lane but is not among the attempts in the database. The service reads the transaction
 * from the RPC node once and then stores it.
 */
export interface UnknownTransaction {
  readonly signature: string;
  readonly slot: number;
  /** The nonce that the transaction used; null when it used no nonce of the lane. */
  readonly nonce: string | null;
  /** Batch id and members hash from the transaction's memo; null when it has no batch memo. */
  readonly memo: { readonly batch: string; readonly hash: string } | null;
  readonly transfers: readonly Transfer[];
  /** Reason why the transaction need not be matched with payments; null when it must be matched. */
  readonly harmless: string | null;
}

/** A transaction that used a nonce of a lane: either an attempt in the database, or an unknown transaction. */
interface NonceUse {
  readonly signature: string;
  readonly slot: number;
  readonly nonce: string;
  readonly by: 'attempt' | 'unknown';
  /**
   * Whether the database has the result of the transaction. For an attempt: its state is `finalized` or `failed`. For an unknown transaction: it has
   * a verdict other than `unmatched`.
   */
  readonly settled: boolean;
}

/** The transactions that name the nonce account of a lane and are newer than `lane.landed`, the newest transaction of the lane in the database. */
export interface LaneHistory {
  /** Uses of nonces, oldest first. */
  readonly uses: readonly NonceUse[];
  /** Unknown transactions that are not in the database yet. */
  readonly fresh: readonly UnknownTransaction[];
  /**
   * Whether all transactions of the history were read. If false, the caller stores `fresh`, and the next reconciliation reads the other transactions.
   */
  readonly complete: boolean;
}

const selectAttempts = statement<{ signature: string; nonce: string | null; state: string }>(
  'known_attempts_of_lane',
  // Excludes attempts in the state `dead`. A dead attempt that landed nevertheless counts as an unknown transaction.
  `select signature, case when nonce_account = $2 then nonce end as nonce, state from chain_attempts
   where signature = any($1::text[]) and state <> 'dead'`,
);
const selectUnknownTransactions = statement<{ signature: string; nonce: string | null; verdict: string }>(
  'known_payout_findings',
  'select signature, nonce, verdict from payout_findings where signature = any($1::text[])',
);

/** Extracts the nonce, the memo and the transfers from a transaction, and decides whether the transaction must be matched with payments. */
function classifyTransaction(address: PublicKey, signature: string, found: VersionedTransactionResponse): UnknownTransaction {
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
  const failed = found.meta?.err ? 'the transaction landed with an error' : null;
  const harmless = nonce === null ? 'the transaction uses no nonce' : (failed ?? (movesNothing ? 'the transaction only advances the nonce' : null));
  return { signature, slot: found.slot, nonce, memo, transfers, harmless };
}

/**
 * Reads the finalized transactions that name a lane's nonce account and are newer than `lane.landed`, the newest transaction of the lane in the
 * database. Any wallet can name the nonce account, but only the fee payer can use its nonce.
 * @param slot minimum slot that the RPC node must have reached
 */
export async function readLaneHistory(app: App, lane: Lane, slot: number): Promise<LaneHistory> {
  const listed = await listSignatures(app, lane, slot);
  if (listed === null) return { uses: [], fresh: [], complete: false };
  const signatures = listed.map(({ signature }) => signature);
  const [attempts, stored] = await Promise.all([
    app.db.query(selectAttempts, [signatures, lane.address]),
    app.db.query(selectUnknownTransactions, [signatures]),
  ]);
  const known = new Map<string, Pick<NonceUse, 'by' | 'settled'> & { nonce: string | null }>();
  for (const { signature, nonce, verdict } of stored) known.set(signature, { nonce, by: 'unknown', settled: verdict !== 'unmatched' });
  for (const { signature, nonce, state } of attempts) {
    known.set(signature, { nonce, by: 'attempt', settled: state === 'finalized' || state === 'failed' });
  }
  const unknown = listed.filter(({ signature }) => !known.has(signature));
  const fresh = await readTransactions(app, new PublicKey(lane.address), unknown.slice(0, MAX_READ));
  for (const { signature, nonce, harmless } of fresh) known.set(signature, { nonce, by: 'unknown', settled: harmless !== null });
  const uses = listed.flatMap(({ signature, slot: at }): NonceUse[] => {
    const { nonce, by, settled } = known.get(signature) ?? { nonce: null, by: 'unknown', settled: false };
    return nonce === null ? [] : [{ signature, slot: at, nonce, by, settled }];
  });
  // The list contains at least the transaction that created the nonce account. If the list is empty and the lane has no stored nonce yet, the RPC
  // node lags behind.
  const isPlausible = listed.length > 0 || lane.nonce !== null;
  return { uses, fresh, complete: isPlausible && fresh.length === unknown.length };
}

interface ListedSignature {
  readonly signature: string;
  readonly slot: number;
}

/**
 * Lists the signatures of the transactions that name a lane's nonce account and are newer than `lane.landed`, the newest transaction of the lane in
 * the database. The oldest comes first. Returns null when there are more than 20 pages of signatures.
 */
async function listSignatures(app: App, lane: Lane, minContextSlot: number): Promise<ListedSignature[] | null> {
  const found: ListedSignature[] = [];
  let before: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const options = { limit: PAGE, minContextSlot, ...(before ? { before } : {}), ...(lane.landed ? { until: lane.landed } : {}) };
    const rows = await rpc(() => app.chain.connection.getSignaturesForAddress(new PublicKey(lane.address), options, 'finalized'));
    // A lane's nonce can be used at most once per slot. So only transactions in slots after `landedSlot`, the slot of `lane.landed`, can have used a
    // later nonce.
    const recent = rows.filter((row) => row.slot > lane.landedSlot);
    found.push(...recent.map(({ signature, slot }) => ({ signature, slot })));
    if (rows.length < PAGE || recent.length < rows.length) return found.reverse();
    before = rows.at(-1)?.signature;
  }
  return null;
}

/** Reads transactions and classifies them. Leaves out transactions that the RPC node does not have. */
async function readTransactions(app: App, address: PublicKey, unknown: readonly ListedSignature[]): Promise<UnknownTransaction[]> {
  const options = { commitment: 'finalized' as const, maxSupportedTransactionVersion: 1 };
  const transactions: UnknownTransaction[] = [];
  const next = unknown.values();
  await Promise.all(
    Array.from({ length: Math.min(MAX_CONCURRENT_READS, unknown.length) }, async () => {
      for (const { signature } of next) {
        const found = await rpc(() => app.chain.connection.getTransaction(signature, options));
        if (found) transactions.push(classifyTransaction(address, signature, found));
      }
    }),
  );
  return transactions;
}
