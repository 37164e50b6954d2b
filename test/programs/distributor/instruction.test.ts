import { describe, expect, test } from '@jest/globals';
import type { AccountMeta, Keypair, TransactionInstruction } from '@solana/web3.js';
import { account, changedInstruction, key } from '../instructions.ts';
import { FEATURES, type Features } from '../svm.ts';
import { wallets } from './tree.ts';
import { World } from './world.ts';

/** Prepares each instruction so that it would succeed. Signers that need not be writable have separate keys. */
const INSTRUCTIONS: Record<string, (world: World) => { instruction: TransactionInstruction; signers: Keypair[]; length: number }> = {
  open(world) {
    const epoch = world.plan(world.mint(), wallets(3));
    world.must(world.funding(epoch), world.authority);
    const instruction = changedInstruction(world.opening(epoch), { keys: { 0: { pubkey: world.treasury.publicKey } } });
    return { instruction, signers: [world.treasury, world.authority], length: 64 };
  },
  claim(world) {
    const epoch = world.open(world.mint(), wallets(3));
    world.destination(epoch, 0);
    const instruction = changedInstruction(world.claiming(epoch, 0), { keys: { 0: { pubkey: world.treasury.publicKey } } });
    return { instruction, signers: [world.treasury], length: 16 + 2 * 32 };
  },
  settle(world) {
    return { instruction: world.settling(world.open(world.mint(), wallets(3))), signers: [world.authority], length: 1 };
  },
  close(world) {
    const epoch = world.open(world.mint(), wallets(3));
    world.must([world.settling(epoch)], world.authority);
    return { instruction: world.closing(epoch), signers: [], length: 1 };
  },
  close_page(world) {
    const epoch = world.open(world.mint(), wallets(3));
    world.claim(epoch, 0);
    world.must([world.settling(epoch), world.closing(epoch)], world.authority);
    return { instruction: world.closingPage(epoch, 0), signers: [], length: 1 };
  },
};

const CASES = FEATURES.flatMap((features) => Object.keys(INSTRUCTIONS).map((name) => [name, features] as const));

function prepared(name: string, features: Features) {
  const world = new World(features);
  const make = INSTRUCTIONS[name];
  if (!make) throw new Error(`unknown instruction: ${name}`);
  const { instruction, signers, length } = make(world);
  return { world, instruction, length, refusal: (changed: TransactionInstruction) => world.errorOf([changed], ...signers) };
}

describe.each(CASES)('%s, %s', (name, features) => {
  test('each instruction accepts data of only one form', () => {
    const { instruction, length, refusal } = prepared(name, features);
    expect(instruction.data).toHaveLength(length);
    const using = (data: (data: Buffer) => Uint8Array) => refusal(changedInstruction(instruction, { data }));
    for (const shorter of new Set([0, 1, 2, 8, 12, 15, length - 32, length - 31, length - 1])) {
      if (shorter >= 0 && shorter < length)
        expect(using((data) => data.subarray(0, shorter))).toMatch(shorter === length - 32 ? /^Bad/ : 'BadInstruction');
    }
    for (const longer of [1, 7, 8, 31]) expect(using((data) => Buffer.concat([data, Buffer.alloc(longer)]))).toBe('BadInstruction');
    for (const kind of [5, 6, 128, 255]) expect(using((data) => Buffer.concat([Buffer.from([kind]), data.subarray(1)]))).toBe('BadInstruction');
    for (const reserved of length === 1 ? [] : name === 'open' ? [2, 3] : [1, 2, 3]) {
      expect(using((data) => data.map((byte, i) => (i === reserved ? 1 : byte)))).toBe('BadInstruction');
    }
    if (name === 'open') for (const flags of [2, 3, 4, 128]) expect(using((data) => data.fill(flags, 1, 2))).toBe('BadInstruction');
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

  test('each instruction rejects repeated accounts, except that the payer may be the authority or the wallet', () => {
    const { instruction, refusal } = prepared(name, features);
    const mayBeFirst = name === 'open' ? 1 : name === 'claim' ? 4 : null;
    for (const i of instruction.keys.keys()) {
      for (const [j, { pubkey }] of instruction.keys.entries()) {
        if (i === j || (i === 0 && j === mayBeFirst) || (j === 0 && i === mayBeFirst)) continue;
        expect(refusal(changedInstruction(instruction, { keys: { [i]: { pubkey, isSigner: false } } }))).toBe('BadAccounts');
      }
    }
    expect(refusal(instruction)).toBeNull();
  });

  test('each instruction requires exactly the signatures and the write access that it needs', () => {
    const { instruction, refusal } = prepared(name, features);
    const without = (i: number, change: Partial<AccountMeta>) => refusal(changedInstruction(instruction, { keys: { [i]: change } }));
    for (const [i, meta] of instruction.keys.entries()) {
      if (meta.isSigner) expect(without(i, { isSigner: false })).toBe('MissingSignature');
      if (meta.isWritable) expect(without(i, { isWritable: false })).toBe('NotWritable');
    }
    expect(refusal(instruction)).toBeNull();
  });
});

describe.each(FEATURES)('an instruction without data, %s', (features) => {
  test('an instruction without data fails', () => {
    const world = new World(features);
    const nothing = changedInstruction(world.settling(world.plan(world.mint(), wallets(1))), { data: () => Buffer.alloc(0) });
    expect(world.errorOf([nothing], world.authority)).toBe('BadInstruction');
    expect(world.errorOf([changedInstruction(nothing, { fewer: 5 })])).toBe('BadInstruction');
  });
});
