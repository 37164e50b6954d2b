import { describe, expect, test } from '@jest/globals';
import { type AccountMeta, Keypair, NONCE_ACCOUNT_LENGTH, SystemProgram, type TransactionInstruction } from '@solana/web3.js';
import { account, changedInstruction, key, relaying } from '../instructions.ts';
import { FEATURES, type Features } from '../svm.ts';
import { DrawsWorld } from './world.ts';

/** Prepares each instruction so that it would succeed, with `length` bytes of data, of which the `reserved` ones are 0. */
const INSTRUCTIONS: Record<string, (world: DrawsWorld) => { instruction: TransactionInstruction; length: number; reserved: number[] }> = {
  init_draws: (world) => ({ instruction: world.founding(), length: 120, reserved: [2, 3] }),
  rotate(world) {
    world.found();
    return { instruction: world.rotating(key()), length: 40, reserved: [1, 2, 3, 4, 5, 6, 7] };
  },
  commit(world) {
    world.found();
    return { instruction: world.committing(), length: 64, reserved: [1, 2, 3, 4, 5, 6, 7] };
  },
};

const CASES = FEATURES.flatMap((features) => Object.keys(INSTRUCTIONS).map((name) => [name, features] as const));

function prepared(name: string, features: Features) {
  const world = new DrawsWorld(features);
  const make = INSTRUCTIONS[name];
  if (!make) throw new Error(`unknown instruction: ${name}`);
  return { world, ...make(world), refusal: (changed: TransactionInstruction) => world.errorOf([changed]) };
}

describe.each(CASES)('%s, %s', (name, features) => {
  test('each instruction accepts data of only one form', () => {
    const { instruction, length, reserved, refusal } = prepared(name, features);
    expect(instruction.data).toHaveLength(length);
    const using = (data: (data: Buffer) => Uint8Array) => refusal(changedInstruction(instruction, { data }));
    for (const shorter of [0, 1, 2, 8, 24, 32, length - 8, length - 1]) expect(using((data) => data.subarray(0, shorter))).toBe('BadInstruction');
    for (const longer of [1, 7, 8, 24, 32, 56, 80]) expect(using((data) => Buffer.concat([data, Buffer.alloc(longer)]))).toBe('BadInstruction');
    for (const kind of [3, 4, 128, 255]) expect(using((data) => Buffer.concat([Buffer.from([kind]), data.subarray(1)]))).toBe('BadInstruction');
    for (const other of [0, 1, 2].filter((kind) => kind !== instruction.data[0])) {
      expect(using((data) => Buffer.concat([Buffer.from([other]), data.subarray(1)]))).toBe('BadInstruction');
    }
    for (const at of reserved) expect(using((data) => data.map((byte, i) => (i === at ? 1 : byte)))).toBe('BadInstruction');
    expect(refusal(instruction)).toBeNull();
  });

  test('each instruction rejects missing and additional accounts', () => {
    const { instruction, refusal } = prepared(name, features);
    for (let fewer = 1; fewer <= instruction.keys.length; fewer++) expect(refusal(changedInstruction(instruction, { fewer }))).toBe('BadAccounts');
    for (const count of [1, 2, 5, 40]) {
      const more = Array.from({ length: count }, () => account(key()));
      expect(refusal(changedInstruction(instruction, { more }))).toBe('BadAccounts');
    }
    expect(refusal(changedInstruction(instruction, { more: instruction.keys.slice(0, 1) }))).toBe('BadAccounts');
    expect(refusal(instruction)).toBeNull();
  });

  test('each instruction rejects repeated accounts, except that the payer may be the founder or the committer', () => {
    const { instruction, refusal } = prepared(name, features);
    const mayBeFirst = name === 'rotate' ? null : 1;
    for (const i of instruction.keys.keys()) {
      for (const [j, { pubkey }] of instruction.keys.entries()) {
        if (i === j || (i === 0 && j === mayBeFirst) || (j === 0 && i === mayBeFirst)) continue;
        expect(refusal(changedInstruction(instruction, { keys: { [i]: { pubkey, isSigner: false } } }))).toBe('BadAccounts');
      }
    }
    expect(refusal(instruction)).toBeNull();
  });

  test('each instruction requires exactly the signatures and the write access that it needs', () => {
    const { instruction, world } = prepared(name, features);
    // A payer of the instruction that does not pay the fee, because the runtime makes the fee payer a writable signer in every instruction.
    const other = Keypair.generate();
    world.svm.fund(other.publicKey, 1_000_000_000n);
    const own = name === 'rotate' ? instruction : changedInstruction(instruction, { keys: { 0: { pubkey: other.publicKey } } });
    const without = (i: number, change: Partial<AccountMeta>) => world.errorOf([changedInstruction(own, { keys: { [i]: change } })], other);
    for (const [i, meta] of own.keys.entries()) {
      if (meta.isSigner) expect(without(i, { isSigner: false })).toBe('MissingSignature');
      if (meta.isWritable) expect(without(i, { isWritable: false })).toBe('NotWritable');
    }
    expect(world.errorOf([own], other)).toBeNull();
  });

  test('another program may forward each instruction, but not without its signatures or its write access', () => {
    const { instruction, world } = prepared(name, features);
    const through = relaying(world.svm);
    for (const [i, meta] of instruction.keys.entries()) {
      if (meta.isSigner) expect(world.errorOf([through(instruction, { unsigned: 1 << i })])).toBe('MissingSignature');
      if (meta.isWritable) expect(world.errorOf([through(instruction, { readonly: 1 << i })])).toBe('NotWritable');
    }
    const twice = { init_draws: 'AlreadyFounded', rotate: null, commit: 'AlreadyCommitted' }[name];
    if (twice !== null) expect(world.errorOf([through(instruction, { times: 2 })])).toBe(twice);
    expect(world.errorOf([through(instruction)])).toBeNull();
  });
});

describe.each(FEATURES)('other accounts and instructions, %s', (features) => {
  test('an instruction without data fails', () => {
    const world = new DrawsWorld(features);
    const nothing = changedInstruction(world.founding(), { data: () => Buffer.alloc(0) });
    expect(world.errorOf([nothing])).toBe('BadInstruction');
    expect(world.errorOf([changedInstruction(nothing, { fewer: 4 })])).toBe('BadInstruction');
  });

  test('an account that a stranger assigned to the program is neither a draws account nor a commitment', () => {
    const world = new DrawsWorld(features);
    world.found();
    for (const space of [0, 1, NONCE_ACCOUNT_LENGTH, 120, 160, 200]) {
      const made = Keypair.generate();
      const create = { fromPubkey: world.payer.publicKey, newAccountPubkey: made.publicKey, space, lamports: world.svm.rent(space) };
      world.must([SystemProgram.createAccount({ ...create, programId: world.program })], made);
      const pubkey = made.publicKey;
      expect(world.errorOf([changedInstruction(world.committing(), { keys: { 2: { pubkey } } })])).toBe('NotDraws');
      expect(world.errorOf([changedInstruction(world.committing(), { keys: { 3: { pubkey } } })])).toBe('WrongAddress');
      expect(world.errorOf([changedInstruction(world.rotating(key()), { keys: { 1: { pubkey } } })])).toBe('NotDraws');
      expect(world.errorOf([changedInstruction(world.founding(), { keys: { 2: { pubkey } } })])).toBe('WrongAddress');
    }
  });
});
