import { randomBytes } from 'node:crypto';
import { type Keypair, type PublicKey, TransactionInstruction } from '@solana/web3.js';
import bs58 from 'bs58';
import { credit, type FinalBurns } from '#areas/burns/credit.ts';
import { activateEvent, createEvent, endEvent } from '#areas/burns/lifecycle.ts';
import { type BurnEventRow, readActive } from '#areas/burns/rows.ts';
import type { Source } from '#areas/burns/schemas.ts';
import { ingestBurns } from '#areas/burns/watch.ts';
import type { App } from '#platform/app.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, memo, TOKEN_PROGRAM, u64 } from '#platform/solana/tokens.ts';
import type { RewardsTest } from '../solana/claims.ts';
import { sql } from './boards.ts';
import { anyWallet } from './epochs.ts';
import { eventually } from './player.ts';

/** A burn event of nobody in particular, pending. */
export const describeEvent = (app: App, by = anyWallet(), durationSec = 86_400): Promise<BurnEventRow> =>
  app.tx((tx) => createEvent(app, tx, by, { title: 'A bonfire', durationSec }));

/** Ends the event that is active, if there is one. */
export async function endActive(app: App): Promise<void> {
  const active = await readActive(app.db);
  if (active) await endEvent(app, active.id);
}

/** A burn event that is active; the one that was has ended. */
export async function freshEvent(app: App): Promise<BurnEventRow> {
  await endActive(app);
  const { id } = await describeEvent(app);
  return await activateEvent(app, id, null);
}

export const newSignature = (): string => bs58.encode(randomBytes(64));

/** A finalized transaction as the chain would have told it. */
export const finalBurn = (
  event: BurnEventRow,
  wallet: string,
  amount: bigint,
  source: Source = 'game',
  more: Partial<FinalBurns> = {},
): FinalBurns => ({
  signature: newSignature(),
  slot: 1,
  at: Date.parse(event.activatedAt ?? ''),
  names: { event: event.id, source },
  burns: [{ index: 0, wallet, amount }],
  ...more,
});

/** Credits what an event's mint burned. */
export const creditAll = (app: App, event: BurnEventRow, transactions: readonly FinalBurns[]) => credit(app, event.mint, transactions);

/** An instruction of the token program: its number, an amount of base units, its accounts, and which of them sign. */
export function tokens(number: number, amount: bigint, accounts: readonly PublicKey[], ...signers: readonly Keypair[]): TransactionInstruction {
  const isSigner = (pubkey: PublicKey) => signers.some(({ publicKey }) => publicKey.equals(pubkey));
  const data = [Buffer.from([number]), u64(amount), ...(number === BURN_CHECKED ? [Buffer.from([6])] : [])];
  const keys = accounts.map((pubkey) => ({ pubkey, isSigner: isSigner(pubkey), isWritable: true }));
  return new TransactionInstruction({ programId: TOKEN_PROGRAM, keys, data: Buffer.concat(data) });
}
export const BURN = 8;
export const BURN_CHECKED = 15;

/** Where a wallet has a token: the reward token, unless told otherwise. */
export const accountOf = (t: RewardsTest, { publicKey }: { publicKey: PublicKey }, mint = t.chain.keys.rewardMint.publicKey): PublicKey =>
  associatedTokenAddress(publicKey, mint);

/** Burns base units of the reward token, unless told otherwise. */
export const burn = (t: RewardsTest, owner: Keypair, amount: bigint, mint = t.chain.keys.rewardMint.publicKey): TransactionInstruction =>
  tokens(BURN_CHECKED, amount, [accountOf(t, owner, mint), mint, owner.publicKey], owner);

/** Names the reward mint and does nothing: opens an account that is there. */
export const idle = (t: RewardsTest, owner: Keypair): TransactionInstruction =>
  createAssociatedTokenAccount(owner.publicKey, owner.publicKey, t.chain.keys.rewardMint.publicKey);

export const burnMemo = (event: { id: string }, source: Source | string = 'game') => memo(`burn:${event.id}:${source}`);

/** A stranger with SOL and the reward token. */
export const newBurner = (t: RewardsTest): Promise<Keypair> => t.chain.fundWallet({ lamports: 1_000_000_000, reward: 1_000_000_000n });

/** Burns for an event. @returns the signature, at once */
export const burnFor = (t: RewardsTest, keys: Keypair, event: { id: string }, amount: bigint, source: Source | string = 'game'): Promise<string> =>
  t.chain.send([burn(t, keys, amount), burnMemo(event, source)], [keys]);

/** Waits until all transactions are final, and has the watcher look. */
export async function watchUntilFinal(t: RewardsTest, signatures: readonly string[], app: App = t.app): Promise<void> {
  await allFinal(t, signatures);
  await ingestBurns(app);
}

/** Waits until all transactions are final. */
export async function allFinal(t: RewardsTest, signatures: readonly string[]): Promise<void> {
  await eventually(async () => {
    const { value } = await t.chain.connection.getSignatureStatuses([...signatures], { searchTransactionHistory: true });
    const open = value.filter((status) => status?.confirmationStatus !== 'finalized').length;
    if (open > 0) throw new Error(`${open} of ${signatures.length} transactions are not final`);
  }, 30_000);
}

/** The slot that a transaction landed in. */
export const slotOf = async (t: RewardsTest, signature: string): Promise<number> =>
  (await t.chain.connection.getSignatureStatus(signature, { searchTransactionHistory: true })).value?.slot ?? 0;

/** Transactions that name the reward mint and burn nothing, all of them in one slot. @returns the signature of the last */
export async function crowd(t: RewardsTest, payer: Keypair, n: number): Promise<string> {
  const { control, connection } = t.chain;
  await control.pause();
  const { blockhash } = await connection.getLatestBlockhash();
  const sent = Array.from({ length: n }, (_, i) => t.chain.send([idle(t, payer), memo(`#${i}`)], [payer], blockhash));
  const signatures = await Promise.all(sent);
  await control.resume();
  await allFinal(t, signatures);
  return signatures.at(-1) ?? '';
}

/** Burns as they are recorded, in order. */
export const recorded = (app: App, event: { id: string }) =>
  sql<{ signature: string; index: number; wallet: string; amount: string; named: string; source: string | null }>(
    app,
    'select signature, index::int, wallet, amount::text, named, source from burns where event_id = $1 order by slot, signature, index',
    [event.id],
  );

/** Everything that burns of an event have done, to be compared. */
export async function effects(app: App, event: { id: string }) {
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
  const [told] = await sql<{ n: number; last: string | null }>(
    app,
    `select count(*)::int as n, (array_agg(payload->>'burnTotal' order by id desc))[1] as last from outbox where type = 'burn_recorded' and payload->>'burnEventId' = $1`,
    [event.id],
  );
  return { ...totals, burns: (await recorded(app, event)).length, activities, told };
}

/** Makes the watcher list the newest part of the history once more at its next look, as it does every minute. */
export const lookDeep = (app: App) => sql(app, `update burn_cursors set deep_at = app_now()`);

/** Lets transactions that could not be read be asked for again at once. */
export const readAgain = (app: App) => sql(app, 'update burn_transactions set next_at = app_now() where read_at is null');
