import { expect, test } from '@jest/globals';
import { parseAddress } from '#platform/solana/primitives.ts';
import { SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';
import {
  ASSOCIATED_TOKEN_PROGRAM,
  associatedTokenAddress,
  burnChecked,
  createAssociatedTokenAccount,
  decodeMint,
  decodeTokenAccount,
  mintTo,
  TOKEN_PROGRAM,
  transferChecked,
} from '#platform/solana/tokens.ts';
import { randomAddress } from '#test/support/areas/payout-rows.ts';

const address = () => parseAddress(randomAddress());
const [from, to, owner, mint, payer] = [address(), address(), address(), address(), address()];
/** Returns an account entry: its address, whether the instruction writes it, and whether it signs. */
const entry = (pubkey: typeof from, isWritable: boolean, isSigner = false) => ({ pubkey, isSigner, isWritable });
const AMOUNT = 0x0102030405060708n;
const AMOUNT_BYTES = [8, 7, 6, 5, 4, 3, 2, 1];

test('a transfer moves the amount from one token account to the other, and only the owner signs it', () => {
  const built = transferChecked({ from, to, owner, mint, decimals: 6, amount: AMOUNT });
  expect(built.programId).toEqual(TOKEN_PROGRAM);
  expect(built.keys).toEqual([entry(from, true), entry(mint, false), entry(to, true), entry(owner, false, true)]);
  expect([...built.data]).toEqual([12, ...AMOUNT_BYTES, 6]);
  expect(() => transferChecked({ from, to, owner, mint, decimals: 6, amount: 2n ** 64n })).toThrow(RangeError);
  expect(() => transferChecked({ from, to, owner, mint, decimals: 6, amount: -1n })).toThrow(RangeError);
});

test('minting and burning name the number of their instruction, the amount and the accounts that they change', () => {
  const minting = mintTo(mint, to, owner, AMOUNT);
  expect([minting.programId, minting.keys]).toEqual([TOKEN_PROGRAM, [entry(mint, true), entry(to, true), entry(owner, false, true)]]);
  expect([...minting.data]).toEqual([7, ...AMOUNT_BYTES]);
  const burning = burnChecked({ from, owner, mint, decimals: 9, amount: AMOUNT });
  expect([burning.programId, burning.keys]).toEqual([TOKEN_PROGRAM, [entry(from, true), entry(mint, true), entry(owner, false, true)]]);
  expect([...burning.data]).toEqual([15, ...AMOUNT_BYTES, 9]);
});

test('a token account is opened for its owner, and the payer signs and pays', () => {
  const built = createAssociatedTokenAccount(payer, owner, mint);
  expect(built.programId).toEqual(ASSOCIATED_TOKEN_PROGRAM);
  expect(built.keys).toEqual([
    entry(payer, true, true),
    entry(associatedTokenAddress(owner, mint), true),
    entry(owner, false),
    entry(mint, false),
    entry(SYSTEM_PROGRAM, false),
    entry(TOKEN_PROGRAM, false),
  ]);
  expect([...built.data]).toEqual([1]);
});

test('a token account is decoded only if the token program owns it, it has the right size and it is initialized', () => {
  const data = Buffer.alloc(165, 9);
  data.set(mint.toBytes(), 0);
  data.set(owner.toBytes(), 32);
  data.writeBigUInt64LE(AMOUNT, 64);
  const inState = (state: number) => {
    const bytes = Buffer.from(data);
    bytes[108] = state;
    return { owner: TOKEN_PROGRAM, data: bytes };
  };
  expect(decodeTokenAccount(inState(1))).toEqual({ mint, owner, amount: AMOUNT, frozen: false });
  expect(decodeTokenAccount(inState(2))).toEqual({ mint, owner, amount: AMOUNT, frozen: true });
  for (const state of [0, 3]) expect(decodeTokenAccount(inState(state))).toBeNull();
  expect(decodeTokenAccount({ ...inState(1), owner: SYSTEM_PROGRAM })).toBeNull();
  expect(decodeTokenAccount({ ...inState(1), data: Buffer.concat([inState(1).data, Buffer.alloc(1)]) })).toBeNull();
  expect(decodeTokenAccount({ ...inState(1), data: inState(1).data.subarray(0, 164) })).toBeNull();
  expect(decodeTokenAccount(null)).toBeNull();
});

test('a mint is decoded with its supply, its decimals and whether its accounts can be frozen', () => {
  const data = Buffer.alloc(82, 9);
  data.writeBigUInt64LE(AMOUNT, 36);
  data[44] = 6;
  data[45] = 1;
  const withFreeze = (option: number, initialized = 1) => {
    const bytes = Buffer.from(data);
    bytes[45] = initialized;
    bytes.writeUInt32LE(option, 46);
    return { owner: TOKEN_PROGRAM, data: bytes };
  };
  expect(decodeMint(withFreeze(0))).toEqual({ supply: AMOUNT, decimals: 6, freezable: false });
  expect(decodeMint(withFreeze(1))).toEqual({ supply: AMOUNT, decimals: 6, freezable: true });
  expect(decodeMint(withFreeze(0, 0))).toBeNull();
  expect(decodeMint({ ...withFreeze(0), owner: SYSTEM_PROGRAM })).toBeNull();
  expect(decodeMint({ ...withFreeze(0), data: Buffer.alloc(83) })).toBeNull();
  expect(decodeMint(null)).toBeNull();
});
