import { expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { commitmentAddress, decodeCommitment, decodeDraws, drawsAddress } from '#lib/draw/accounts.ts';
import { Receipt, receiptStatement, signStatement, statementBytes, verifyStatement } from '#lib/draw/statements.ts';
import { commitmentAddress as clientCommitmentAddress, drawsAddress as clientDrawsAddress } from '#platform/solana/draws/index.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { encodeCommitment, encodeDraws } from '#test/support/verify/accounts.ts';
import { leavesOf, tampered } from '#test/support/verify/tampering.ts';
import { addressOf, CHAIN, chatParameters, drawsOf, entriesOf, finished, keyOf, PROGRAM, RECEIPT_KEY, uuidOf } from './rounds.ts';

const parameters = chatParameters();
const entries = entriesOf(parameters, 3, 3, randomGenerator(4));
const facts = finished(parameters, entries);
const { draws, round } = parameters;

test('a signed statement is valid only for its key and with all its fields', () => {
  const entry = entries[1];
  if (!entry) throw new Error('the entry is missing');
  const named = { draws, round, parametersHash: facts.closed.statement.parametersHash };
  const receipt = signStatement(receiptStatement(named, uuidOf('entry'), entry, 'ab'.repeat(32)), RECEIPT_KEY.sign);
  expect(Receipt.parse(JSON.parse(JSON.stringify(receipt)))).toEqual(receipt);
  for (const signed of [receipt, facts.announcement, facts.closed]) {
    expect(verifyStatement(RECEIPT_KEY.publicKey, signed)).toBe(true);
    expect(verifyStatement(keyOf('other').publicKey, signed)).toBe(false);
    expect(verifyStatement(RECEIPT_KEY.publicKey, { ...signed, signature: '00'.repeat(64) })).toBe(false);
    expect(verifyStatement('no key', signed)).toBe(false);
    const text = new TextDecoder().decode(statementBytes(signed.statement));
    expect(Object.keys(JSON.parse(text))).toEqual(Object.keys(signed.statement).toSorted());
  }
  for (const path of leavesOf(receipt.statement)) {
    const changed = Receipt.safeParse({ ...receipt, statement: tampered(receipt.statement, path) });
    if (changed.success) expect(verifyStatement(RECEIPT_KEY.publicKey, changed.data)).toBe(false);
  }
});

test('the accounts of the program are decoded from exactly their layout', () => {
  const account = drawsOf(CHAIN);
  const { address: _, ...fields } = account;
  const data = encodeDraws(account);
  expect(data.length).toBe(160);
  expect(decodeDraws(data)).toEqual(fields);
  expect(decodeDraws(encodeDraws({ ...account, isDevelopment: true }))?.isDevelopment).toBe(true);
  const commitment = { bump: 254, round, beaconRound: 2 ** 32, slot: 300_000_000, time: 1_795_000_000, leaf: 'cd'.repeat(32), draws };
  const bytes = encodeCommitment(commitment);
  expect(bytes.length).toBe(120);
  expect(decodeCommitment(bytes)).toEqual(commitment);
  const changed = (base: Uint8Array, at: number, value: number) => base.map((byte, i) => (i === at ? value : byte));
  for (const at of [0, 7, 8, 11]) expect(decodeDraws(changed(data, at, 0xee))).toBeNull();
  expect(decodeDraws(changed(data, 9, 2))).toBeNull();
  for (const at of [0, 7, 8, 10, 15, 39, 47]) expect(decodeCommitment(changed(bytes, at, 0xee))).toBeNull();
  for (const other of [data, bytes].flatMap((base) => [base.slice(1), new Uint8Array([...base, 0])])) {
    expect(decodeDraws(other)).toBeNull();
    expect(decodeCommitment(other)).toBeNull();
  }
});

test('addresses are derived as the chain derives them', () => {
  const program = parseAddress(PROGRAM);
  for (let i = 0; i < 20; i++) {
    const founder = addressOf(`founder ${i}`);
    const own = drawsAddress(PROGRAM, founder);
    expect(own.address).toBe(clientDrawsAddress(program, parseAddress(founder)).toBase58());
    const id = uuidOf(`round ${i}`);
    const expected = clientCommitmentAddress(program, parseAddress(own.address), id).toBase58();
    expect(commitmentAddress(PROGRAM, own.address, id).address).toBe(expected);
    expect(bs58.decode(expected)).toHaveLength(32);
  }
});
