import { programAddress } from '../../../src/lib/draw/accounts.ts';
import { base58Bytes, instantOf } from '../../../src/lib/draw/bytes.ts';
import { CLOCK_TOLERANCE_SEC } from '../../../src/lib/draw/checks.ts';
import { firstDifference } from '../../../src/lib/draw/mismatch.ts';
import type { RoundParameters } from '../../../src/lib/draw/parameters.ts';
import { membersHash, PAYOUT_PREFIX, type PayoutMember, type PublishedPayouts, payoutMemo } from '../../../src/lib/draw/payout.ts';
import type { Winner } from '../../../src/lib/draw/winners.ts';
import type { ChainTransaction } from './chain.ts';
import { awaitNode } from './commitment.ts';
import type { Context } from './known.ts';
import { demand, Lie, Unknown } from './report.ts';

const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
/** The instruction TransferChecked of the token program: its first byte and its length. Then follow amount u64 and decimals u8. */
const TRANSFER_CHECKED = 12;
const TRANSFER_BYTES = 10;

/** The round whose prizes are checked. `drawnAt`: the time of its beacon round, ms since 1970. */
interface PaidRound {
  readonly parameters: RoundParameters;
  readonly winners: readonly Winner[];
  readonly commitmentSlot: number;
  readonly drawnAt: number;
}

/** Returns the address of a wallet's token account. */
export const tokenAccount = (wallet: string, mint: string): string =>
  programAddress(ASSOCIATED_TOKEN_PROGRAM, base58Bytes(wallet), base58Bytes(TOKEN_PROGRAM), base58Bytes(mint)).address;

/** Checks on the chain that each prize is paid, and reports prizes that are not paid or were paid late. */
export async function checkPayouts(context: Context, round: PaidRound, published: PublishedPayouts): Promise<void> {
  const { report } = context;
  const { winners, parameters } = round;
  const due = winners.filter(({ prize }) => prize.amount !== '0');
  if (due.length > 0 && published.round !== parameters.round) throw new Lie('payouts', 'the payouts are of another round');
  const transactions = new Map<string, ChainTransaction>();
  const unpaid: number[] = [];
  const late: number[] = [];
  for (const { place, wallet, prize } of due) {
    const payout = published.payouts.find((one) => one.place === place);
    if (payout === undefined) {
      unpaid.push(place);
      continue;
    }
    const { paymentId, signature, batch } = payout;
    const name = `payouts[place ${place}]`;
    demand('payouts', firstDifference({ wallet, ...prize }, { wallet: payout.wallet, amount: payout.amount, mint: payout.mint }, name));
    if (signature === null) {
      unpaid.push(place);
      continue;
    }
    const transaction = transactions.get(signature) ?? (await readTransaction(context, signature, round));
    transactions.set(signature, transaction);
    const members = published.batches.find(({ id }) => id === batch)?.members;
    if (batch === null || members === undefined) throw new Lie('payouts', `${name} names a transaction without the list of its members`);
    checkBatch(signature, transaction, batch, members, parameters.treasury);
    const own = members.filter((member) => member.round === parameters.round && member.place === place);
    demand(
      'payouts',
      firstDifference([{ paymentId, round: parameters.round, place, wallet, ...prize }], own, `members of ${signature} for place ${place}`),
    );
    if (transaction.time * 1_000 > round.drawnAt + (parameters.payWithinSec + CLOCK_TOLERANCE_SEC) * 1_000) late.push(place);
  }
  const paid = due.length - unpaid.length;
  const places = (list: readonly number[]) => (list.length === 1 ? `place ${list[0]}` : `places ${list.join(', ')}`);
  if (unpaid.length > 0) report.late('payouts', `${paid} of ${due.length} prizes are paid; not paid: ${places(unpaid)}`);
  if (late.length > 0) report.late('payouts', `paid after ${instantOf(round.drawnAt + parameters.payWithinSec * 1_000)}: ${places(late)}`);
  if (due.length === 0) report.holds('payouts', 'there is no prize to pay');
  else if (unpaid.length + late.length === 0) report.holds('payouts', `all ${due.length} prizes are paid by ${parameters.treasury}`);
}

async function readTransaction(context: Context, signature: string, { commitmentSlot, drawnAt }: PaidRound): Promise<ChainTransaction> {
  const { chain } = context;
  const found = (await chain.transaction(signature)) ?? (await awaitNode(context).then(() => chain.transaction(signature)));
  if (found === null) {
    const first = await chain.firstBlock();
    if (first > commitmentSlot) throw new Unknown('payouts', `the node has no blocks before ${first}, so transaction ${signature} cannot be read`);
    throw new Lie('payouts', `there is no finalized transaction ${signature}, which is said to pay a prize`);
  }
  if (found.failed) throw new Lie('payouts', `transaction ${signature}, which is said to pay a prize, failed`);
  if (found.slot <= commitmentSlot) throw new Lie('payouts', `transaction ${signature} is older than the commitment, so it cannot pay its prizes`);
  // A chain’s clock may lag. Then the time of an honest payment is before the time of the beacon round.
  if (found.time * 1_000 < drawnAt - CLOCK_TOLERANCE_SEC * 1_000)
    throw new Unknown('payouts', `by the chain’s clock, transaction ${signature} was made before the draw`);
  return found;
}

/** Checks that a transaction has exactly one memo of a batch, that this memo names the given members, and that the transaction makes exactly the members' transfers. */
export function checkBatch(
  signature: string,
  { instructions }: ChainTransaction,
  batch: string,
  members: readonly PayoutMember[],
  treasury: string,
): void {
  const fail = (reason: string) => new Lie('payouts', `transaction ${signature} ${reason}`);
  const memos = instructions.filter(({ program }) => program === MEMO_PROGRAM).map(({ data }) => new TextDecoder().decode(data));
  const named = memos.filter((text) => text.startsWith(PAYOUT_PREFIX));
  if (named.length !== 1 || named[0] !== payoutMemo(batch, membersHash(members))) throw fail('does not have the memo of its members');
  const transfers = instructions.filter(({ program }) => program === TOKEN_PROGRAM);
  if (transfers.length !== members.length) throw fail(`has ${transfers.length} token instructions for ${members.length} members`);
  for (const [i, { wallet, amount, mint }] of members.entries()) {
    const { accounts = [], data = new Uint8Array() } = transfers[i] ?? {};
    const isTransfer = data.length === TRANSFER_BYTES && data[0] === TRANSFER_CHECKED;
    const moved = isTransfer ? new DataView(data.buffer, data.byteOffset).getBigUint64(1, true) : null;
    const expected = [tokenAccount(treasury, mint), mint, tokenAccount(wallet, mint), treasury];
    if (moved !== BigInt(amount) || expected.some((address, at) => accounts[at] !== address))
      throw fail(`does not pay ${amount} of ${mint} from ${treasury} to ${wallet} at position ${i + 1}`);
  }
}
