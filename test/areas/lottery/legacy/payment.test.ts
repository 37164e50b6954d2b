import { expect, test } from '@jest/globals';
import { evaluatePayment, ticketAccount, ticketPayerOf, treasuryAccounts } from '#areas/lottery/legacy/payment.ts';
import type { FetchedTransaction, ParsedInstruction, TransactionOutcome } from '#platform/solana/fetched-transaction.ts';
import { MEMO_PROGRAM, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { addressOf, legacyParameters, uuidOf } from '#test/lib/draw/rounds.ts';

const PRICE = 1_000_000n;
const REWARD_MINT = addressOf('reward mint');
const [WALLET, OTHER, SOURCE, MINT] = [addressOf('wallet'), addressOf('other wallet'), addressOf('source'), addressOf('mint of the transfer')];
const CLOSES = '2026-11-21T12:00:00.000Z';
const CLOSES_SEC = Date.parse(CLOSES) / 1_000;

const parameters = legacyParameters({ round: uuidOf('round'), ticketPrice: String(PRICE), closesAt: CLOSES });
const accounts = treasuryAccounts(parameters, REWARD_MINT);
const USDC = ticketAccount(parameters).toBase58();
const REWARD = ticketAccount({ ...parameters, mint: REWARD_MINT }).toBase58();

function transferData(opcode: number, amount: bigint, bytes: number): Buffer {
  const data = Buffer.alloc(bytes, 6);
  data[0] = opcode;
  if (bytes >= 9) data.writeBigUInt64LE(amount, 1);
  return data;
}
/** An instruction `Transfer` of the token program. */
const transfer = (to: string, amount = PRICE, authority = WALLET, bytes = 9): ParsedInstruction => ({
  program: TOKEN_PROGRAM.toBase58(),
  accounts: [SOURCE, to, authority],
  data: transferData(3, amount, bytes),
});
/** An instruction `TransferChecked` of the token program. */
const transferChecked = (to: string, amount = PRICE, authority = WALLET, bytes = 10): ParsedInstruction => ({
  program: TOKEN_PROGRAM.toBase58(),
  accounts: [SOURCE, MINT, to, authority],
  data: transferData(12, amount, bytes),
});
const memo = (text: string): ParsedInstruction => ({ program: MEMO_PROGRAM.toBase58(), accounts: [], data: Buffer.from(text) });

/** The outcome of a transaction after which the treasury's accounts have more tokens. */
function outcomeOf(arrived: Readonly<Record<string, bigint>>, failed = false): TransactionOutcome {
  const balances = Object.entries(arrived).map(([account, amount]) => ({ account, mint: MINT, owner: null, amount: amount + 7n }));
  return { failed, tokensBefore: balances.map((balance) => ({ ...balance, amount: 7n })), tokensAfter: balances, innerInstructions: [] };
}
const transactionOf = (instructions: readonly ParsedInstruction[], changes: Partial<FetchedTransaction> = {}): FetchedTransaction => ({
  signature: 'signature',
  slot: 1,
  blockTime: CLOSES_SEC - 1,
  blockhash: addressOf('blockhash'),
  signers: [WALLET],
  instructions,
  outcome: outcomeOf({ [USDC]: PRICE }),
  ...changes,
});
const evaluate = (transaction: FetchedTransaction) => evaluatePayment(transaction, WALLET, parameters, accounts);
const valid = [transferChecked(USDC), memo(parameters.round)];
const refund = (amount = PRICE, cause = 'signature', currency = 'usdc') => ({ currency, amount, cause });
const refused = (reason: string, refunds: readonly unknown[] = [], isLate = false) => ({ verdict: 'invalid', reason, refunds, isLate });

test('a transfer of the price with the id of the round as its only memo pays for a ticket, at the time of its block', () => {
  const at = '2026-11-21T11:59:59.000Z';
  expect(evaluate(transactionOf(valid))).toEqual({ verdict: 'valid', at, refunds: [refund()] });
  expect(evaluate(transactionOf([memo(parameters.round), transfer(USDC)]))).toMatchObject({ verdict: 'valid', at });
  expect(ticketPayerOf(transactionOf(valid), parameters, accounts)).toBe(WALLET);
});

test('a transaction without outcome or block time is not evaluated yet', () => {
  expect(evaluate(transactionOf(valid, { outcome: null }))).toEqual({ verdict: 'unavailable' });
  expect(evaluate(transactionOf(valid, { blockTime: null }))).toEqual({ verdict: 'unavailable' });
  expect(ticketPayerOf(transactionOf(valid, { outcome: null }), parameters, accounts)).toBeNull();
});

test('a payment in the second in which the round closes is late and refunded, and one second earlier it is in time', () => {
  const late = transactionOf(valid, { blockTime: CLOSES_SEC });
  expect(evaluate(late)).toEqual(refused('the payment was made after the round’s closing time', [refund()], true));
  expect(ticketPayerOf(late, parameters, accounts)).toBe(WALLET);
});

test('a failed transaction, and one that the wallet did not sign, are refused without a refund', () => {
  expect(evaluate(transactionOf(valid, { outcome: outcomeOf({ [USDC]: PRICE }, true) }))).toEqual(refused('the transaction failed'));
  expect(evaluate(transactionOf(valid, { signers: [OTHER] }))).toEqual(refused('the transaction must be signed by this wallet'));
});

test('a payment is refused and refunded when its memo is missing, is another text, or is not the only one', () => {
  const error = 'the transaction must have exactly one memo: the id of this round';
  const [paid] = valid;
  if (!paid) throw new Error('no transfer');
  for (const memos of [[], [memo(uuidOf('other'))], [memo(parameters.round), memo(parameters.round)]]) {
    expect(evaluate(transactionOf([paid, ...memos]))).toEqual(refused(error, [refund()]));
  }
  expect(ticketPayerOf(transactionOf([paid]), parameters, accounts)).toBeNull();
});

test('another amount, another token and several transfers are refused, and the wallet gets back everything that arrived', () => {
  const round = memo(parameters.round);
  expect(evaluate(transactionOf([transfer(USDC, PRICE + 1n), round], { outcome: outcomeOf({ [USDC]: PRICE + 1n }) }))).toEqual(
    refused(`the transaction pays ${PRICE + 1n}, but a ticket costs ${PRICE}`, [refund(PRICE + 1n)]),
  );
  expect(evaluate(transactionOf([transfer(REWARD), round], { outcome: outcomeOf({ [REWARD]: PRICE }) }))).toEqual(
    refused('the transaction pays in the wrong token', [refund(PRICE, 'signature', 'reward')]),
  );
  const several = [transfer(USDC), transferChecked(USDC, 5n), transfer(REWARD, 3n), round];
  expect(evaluate(transactionOf(several, { outcome: outcomeOf({ [USDC]: PRICE + 5n, [REWARD]: 3n }) }))).toEqual(
    refused('the transaction must contain exactly one transfer to the treasury', [refund(PRICE + 5n), refund(3n, 'signature:1', 'reward')]),
  );
});

test('a wallet gets no refund of what another wallet transferred, of nothing, or of more than arrived', () => {
  const round = memo(parameters.round);
  const both = [transfer(USDC, PRICE, OTHER), transfer(USDC, 5n), round];
  const twice = 'the transaction must contain exactly one transfer to the treasury';
  expect(evaluate(transactionOf(both, { signers: [WALLET, OTHER], outcome: outcomeOf({ [USDC]: PRICE + 5n }) }))).toEqual(
    refused(twice, [refund(5n, 'signature:1')]),
  );
  expect(evaluate(transactionOf(both, { signers: [WALLET, OTHER], outcome: outcomeOf({ [USDC]: PRICE + 4n }) }))).toEqual(refused(twice));
  expect(evaluate(transactionOf([transfer(USDC, PRICE, OTHER), round], { signers: [WALLET, OTHER] }))).toEqual(
    refused('this wallet must be the authority of the transfer'),
  );
  expect(evaluate(transactionOf([transfer(USDC, 0n), round], { outcome: outcomeOf({}) }))).toEqual(
    refused(`the transaction pays 0, but a ticket costs ${PRICE}`),
  );
  expect(evaluate(transactionOf(valid, { outcome: outcomeOf({ [USDC]: PRICE - 1n }) }))).toEqual(
    refused('the transaction must change the treasury’s balance by exactly the price'),
  );
  expect(evaluate(transactionOf(valid, { outcome: outcomeOf({ [USDC]: PRICE + 1n }) }))).toEqual(
    refused('the transaction must change the treasury’s balance by exactly the price', [refund()]),
  );
});

test('only whole transfers of the token program to the treasury count', () => {
  const error = `the transaction must transfer the price to ${USDC}`;
  const round = memo(parameters.round);
  const short = [transfer(USDC, PRICE, WALLET, 8), transferChecked(USDC, PRICE, WALLET, 9)];
  for (const instruction of [
    ...short,
    { ...transfer(USDC), program: OTHER },
    transfer(OTHER),
    { ...transfer(USDC), data: transferData(4, PRICE, 9) },
  ]) {
    expect(evaluate(transactionOf([instruction, round]))).toEqual(refused(error));
    expect(ticketPayerOf(transactionOf([instruction, round]), parameters, accounts)).toBeNull();
  }
});

test('without a reward token the treasury has one account, for ticket payments', () => {
  expect([...treasuryAccounts(parameters, null)]).toEqual([[USDC, 'usdc']]);
  expect([...accounts]).toEqual([
    [REWARD, 'reward'],
    [USDC, 'usdc'],
  ]);
});
