import { randomBytes } from 'node:crypto';
import bs58 from 'bs58';
import { creditBurns } from '#areas/burns/credit.ts';
import type { FinalizedTransaction } from '#areas/burns/finalized-transaction.ts';
import { ingestBurns } from '#areas/burns/ingest.ts';
import { activateEvent, createEvent, endEvent } from '#areas/burns/lifecycle.ts';
import { type BurnEventRow, readActiveEvent } from '#areas/burns/rows.ts';
import type { BurnSource } from '#areas/burns/schemas.ts';
import type { App } from '#platform/app.ts';
import { type Address, accountEntry, type Instruction, instruction, type Signer } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, memo, TOKEN_PROGRAM, u64 } from '#platform/solana/tokens.ts';
import type { RewardsTest } from '../solana/claims.ts';
import { sql } from './boards.ts';
import { randomWallet } from './epochs.ts';
import { retryUntilPass } from './player.ts';

/** Creates a pending burn event. */
export const createTestEvent = (app: App, by = randomWallet(), durationSec = 86_400): Promise<BurnEventRow> =>
  app.tx((tx) => createEvent(app, tx, by, { title: 'A bonfire', durationSec }));

/** Ends the active event, if any. */
export async function endActive(app: App): Promise<void> {
  const active = await readActiveEvent(app.db);
  if (active) await endEvent(app, active.id);
}

/** Ends the active event, then creates and activates a new one. */
export async function activateNewEvent(app: App): Promise<BurnEventRow> {
  await endActive(app);
  const { id } = await createTestEvent(app);
  return await activateEvent(app, id, null);
}

const newSignature = (): string => bs58.encode(randomBytes(64));

/** Builds a finalized transaction with one burn. */
export const finalizedBurn = (
  event: BurnEventRow,
  wallet: string,
  amount: bigint,
  source: BurnSource = 'game',
  more: Partial<FinalizedTransaction> = {},
): FinalizedTransaction => ({
  signature: newSignature(),
  slot: 1,
  at: Date.parse(event.activatedAt ?? ''),
  memo: { event: event.id, source },
  burns: [{ index: 0, wallet, amount }],
  delegatedBurns: [],
  ...more,
});

/** Credits the burns of transactions, for the mint of an event. */
export const creditAll = (app: App, event: BurnEventRow, transactions: readonly FinalizedTransaction[]) => creditBurns(app, event.mint, transactions);

/**
 * Builds an instruction of the token program.
 * @param number the number of the instruction
 * @param amount base units
 * @param signers the accounts that sign
 */
export function tokenInstruction(number: number, amount: bigint, accounts: readonly Address[], ...signers: readonly Signer[]): Instruction {
  const isSigner = (pubkey: Address) => signers.some(({ publicKey }) => publicKey.equals(pubkey));
  const data = [Buffer.from([number]), u64(amount), ...(number === BURN_CHECKED ? [Buffer.from([6])] : [])];
  const entries = accounts.map((address) => accountEntry(address, true, isSigner(address)));
  return instruction(TOKEN_PROGRAM, entries, Buffer.concat(data));
}
export const BURN = 8;
const BURN_CHECKED = 15;

/** Returns the token account of a wallet, by default for the reward token. */
export const tokenAccountOf = (t: RewardsTest, { publicKey }: { publicKey: Address }, mint = t.chain.keys.rewardMint.publicKey): Address =>
  associatedTokenAddress(publicKey, mint);

/** Builds a burn instruction, base units, by default of the reward token. */
export const burn = (t: RewardsTest, owner: Signer, amount: bigint, mint = t.chain.keys.rewardMint.publicKey): Instruction =>
  tokenInstruction(BURN_CHECKED, amount, [tokenAccountOf(t, owner, mint), mint, owner.publicKey], owner);

/** Builds an instruction that references the reward mint and changes nothing: it creates an account that exists. */
export const openTokenAccount = (t: RewardsTest, owner: Signer): Instruction =>
  createAssociatedTokenAccount(owner.publicKey, owner.publicKey, t.chain.keys.rewardMint.publicKey);

export const burnMemo = (event: { id: string }, source: BurnSource | string = 'game') => memo(`burn:${event.id}:${source}`);

/** Creates a funded wallet with SOL and reward tokens. */
export const newBurner = (t: RewardsTest): Promise<Signer> => t.chain.fundWallet({ lamports: 1_000_000_000, reward: 1_000_000_000n });

/** Sends a burn for an event. @returns the signature, without waiting for finalization */
export const burnFor = (t: RewardsTest, keys: Signer, event: { id: string }, amount: bigint, source: BurnSource | string = 'game'): Promise<string> =>
  t.chain.send([burn(t, keys, amount), burnMemo(event, source)], [keys]);

/** Waits until all transactions are finalized, then runs `ingestBurns`. */
export async function ingestFinal(t: RewardsTest, signatures: readonly string[], app: App = t.app): Promise<void> {
  await waitUntilFinal(t, signatures);
  await ingestBurns(app);
}

/** Waits until all transactions are finalized. */
export async function waitUntilFinal(t: RewardsTest, signatures: readonly string[]): Promise<void> {
  await retryUntilPass(async () => {
    const { value } = await t.chain.connection.getSignatureStatuses([...signatures], { searchTransactionHistory: true });
    const open = value.filter((status) => status?.confirmationStatus !== 'finalized').length;
    if (open > 0) throw new Error(`${open} of ${signatures.length} transactions are not finalized`);
  }, 30_000);
}

/** Returns the slot of a transaction. */
export const slotOf = async (t: RewardsTest, signature: string): Promise<number> =>
  (await t.chain.connection.getSignatureStatus(signature, { searchTransactionHistory: true })).value?.slot ?? 0;

/** Sends transactions that reference the reward mint and burn nothing, all in one slot. @returns the last signature */
export async function fillSlot(t: RewardsTest, payer: Signer, n: number): Promise<string> {
  const { control, connection } = t.chain;
  await control.pause();
  const { blockhash } = await connection.getLatestBlockhash();
  const sent = Array.from({ length: n }, (_, i) => t.chain.send([openTokenAccount(t, payer), memo(`#${i}`)], [payer], blockhash));
  const signatures = await Promise.all(sent);
  await control.resume();
  await waitUntilFinal(t, signatures);
  return signatures.at(-1) ?? '';
}

/** Reads the recorded burns of an event, in order. */
export const readBurns = (app: App, event: { id: string }) =>
  sql<{ signature: string; index: number; wallet: string; amount: string; named: string; source: string | null }>(
    app,
    'select signature, index::int, wallet, amount::text, named, source from burns where event_id = $1 order by slot, signature, index',
    [event.id],
  );

/** Reads totals, burns, activities and events of a burn event, for comparison. */
export async function readEffects(app: App, event: { id: string }) {
  const [totals] = await sql<{ burned: string; participants: number; referral: string; game: string; social: string }>(
    app,
    'select burned::text, participants, referral::text, game::text, social::text from burn_events where id = $1',
    [event.id],
  );
  const [activities] = await sql<{ n: number; sum: string }>(
    app,
    `select count(*)::int as n, coalesce(sum(amount), 0)::text as sum from activities where kind = 'burn' and game_id = $1`,
    [event.id],
  );
  const [events] = await sql<{ n: number; last: string | null }>(
    app,
    `select count(*)::int as n, (array_agg(payload->>'burnTotal' order by id desc))[1] as last from outbox where type = 'burn_recorded' and payload->>'burnEventId' = $1`,
    [event.id],
  );
  return { ...totals, burns: (await readBurns(app, event)).length, activities, events };
}

/** Makes the next run list the newest part of the history again, as it does every minute. */
export const scheduleRelist = (app: App) => sql(app, `update burn_cursors set deep_at = app_now()`);

/** Makes unread transactions due at once. */
export const retryReads = (app: App) => sql(app, 'update burn_transactions set next_at = app_now() where read_at is null');
