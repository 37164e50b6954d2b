import { describe, expect, test } from '@jest/globals';
import { PublicKey, SystemProgram } from '@solana/web3.js';
import * as layout from '#lib/draw/accounts.ts';
import {
  COMMITMENT_BYTES,
  commitmentAddress,
  commitRound,
  DRAWS_BYTES,
  decodeCommitment,
  decodeDraws,
  drawsAddress,
  initDraws,
} from '#platform/solana/draws/index.ts';
import { changedInstruction, key } from '../instructions.ts';
import { DrawsWorld } from './world.ts';

const world = new DrawsWorld('default features');
world.found({ period: 3, genesis: 1_692_803_367, margin: 61, window: 602 - 3 });
world.svm.now = 1_800_000_000;
const ROUND = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
const LEAF = '01'.padEnd(64, 'ab');
world.must([world.committing({ roundId: ROUND, leaf: LEAF, beaconRound: (1_800_000_000 + 300 - 1_692_803_367) / 3 + 1 })]);

const bumpOf = (...seeds: Buffer[]) => PublicKey.findProgramAddressSync(seeds, world.program)[1];

describe('a draws account', () => {
  const account = world.svm.account(world.draws);
  const other = (change: Partial<typeof account>) => decodeDraws(world.program, { ...account, ...change });
  const written = (at: number, byte: number) => other({ data: Buffer.from(account.data.map((old, i) => (i === at ? byte : old))) });

  test('decodeDraws returns all fields of a draws account', () => {
    expect(account.data).toHaveLength(DRAWS_BYTES);
    expect(decodeDraws(world.program, account)).toEqual({
      isDevelopment: false,
      bump: bumpOf(Buffer.from('draws'), world.founder.publicKey.toBuffer()),
      period: 3,
      genesis: 1_692_803_367,
      margin: 61,
      window: 599,
      founder: world.founder.publicKey.toBase58(),
      committer: world.committer.publicKey.toBase58(),
      chainHash: world.chainHash,
      receiptKey: world.receiptKey.toBase58(),
    });
    expect(other({ data: Buffer.from(account.data) })).toEqual(decodeDraws(world.program, account));
    expect(decodeDraws(world.program, { owner: world.program, data: new Uint8Array(account.data) })).not.toBeNull();
    expect(written(9, 1)?.isDevelopment).toBe(true);
  });

  test('decodeDraws returns null for any other account', () => {
    expect(decodeDraws(world.program, null)).toBeNull();
    expect(decodeDraws(key(), account)).toBeNull();
    expect(other({ owner: SystemProgram.programId })).toBeNull();
    for (const data of [Buffer.alloc(0), Buffer.alloc(160), account.data.subarray(0, 159), Buffer.concat([account.data, Buffer.alloc(1)])]) {
      expect(other({ data })).toBeNull();
    }
    for (let i = 0; i < 8; i++) expect(written(i, (account.data[i] ?? 0) ^ 32)).toBeNull(); // tag
    for (const version of [0, 2, 255]) expect(written(8, version)).toBeNull();
    for (const flags of [2, 3, 128, 255]) expect(written(9, flags)).toBeNull();
    expect(written(11, 1)).toBeNull(); // a reserved byte
    expect(written(22, 32)).toBeNull(); // a genesis above 2^53
    expect(decodeCommitment(world.program, account)).toBeNull();
  });
});

describe('a commitment account', () => {
  const account = world.svm.account(world.commitmentOf(ROUND));
  const other = (change: Partial<typeof account>) => decodeCommitment(world.program, { ...account, ...change });
  const written = (at: number, byte: number) => other({ data: Buffer.from(account.data.map((old, i) => (i === at ? byte : old))) });

  test('decodeCommitment returns all fields of a commitment account', () => {
    expect(account.data).toHaveLength(COMMITMENT_BYTES);
    expect(decodeCommitment(world.program, account)).toEqual({
      bump: bumpOf(Buffer.from('commitment'), world.draws.toBuffer(), Buffer.from(ROUND.replaceAll('-', ''), 'hex')),
      round: ROUND,
      beaconRound: (1_800_000_300 - 1_692_803_367) / 3 + 1,
      slot: world.svm.slot,
      time: 1_800_000_000,
      leaf: LEAF,
      draws: world.draws.toBase58(),
    });
  });

  test('decodeCommitment returns null for any other account', () => {
    expect(decodeCommitment(world.program, null)).toBeNull();
    expect(decodeCommitment(key(), account)).toBeNull();
    for (const data of [Buffer.alloc(0), Buffer.alloc(120), account.data.subarray(0, 119), Buffer.concat([account.data, Buffer.alloc(1)])]) {
      expect(other({ data })).toBeNull();
    }
    for (let i = 0; i < 8; i++) expect(written(i, (account.data[i] ?? 0) ^ 32)).toBeNull(); // tag
    for (const version of [0, 2, 255]) expect(written(8, version)).toBeNull();
    for (let i = 10; i < 16; i++) expect(written(i, 1)).toBeNull(); // reserved bytes
    for (const at of [38, 46, 54]) expect(written(at, 32)).toBeNull(); // a beacon round, slot or time above 2^53
    expect(decodeDraws(world.program, account)).toBeNull();
  });
});

describe('addresses', () => {
  test('drawsAddress and commitmentAddress equal the addresses that #lib/draw derives without a chain library', () => {
    for (let i = 0; i < 20; i++) {
      const [program, founder, round] = [key(), key(), crypto.randomUUID()];
      const draws = drawsAddress(program, founder);
      expect(draws.toBase58()).toBe(layout.drawsAddress(program.toBase58(), founder.toBase58()).address);
      const commitment = commitmentAddress(program, draws, round);
      expect(commitment.toBase58()).toBe(layout.commitmentAddress(program.toBase58(), draws.toBase58(), round).address);
    }
  });

  test('commitmentAddress throws for a round id that is not a UUID in lower case', () => {
    for (const id of ['', ROUND.toUpperCase(), ROUND.replaceAll('-', ''), `${ROUND}0`, ROUND.slice(1)]) {
      expect(() => commitmentAddress(world.program, world.draws, id)).toThrow();
    }
  });
});

describe('instructions', () => {
  test('commitRound and initDraws throw for values that do not fit', () => {
    const commit = { program: key(), payer: key(), committer: key(), draws: key(), roundId: ROUND, leaf: LEAF, beaconRound: 5 };
    expect(commitRound(commit).data).toHaveLength(64);
    expect(() => commitRound({ ...commit, beaconRound: -1 })).toThrow(RangeError);
    expect(() => commitRound({ ...commit, beaconRound: 1.5 })).toThrow(RangeError);
    expect(() => commitRound({ ...commit, leaf: LEAF.slice(2) })).toThrow();
    expect(() => commitRound({ ...commit, leaf: LEAF.toUpperCase() })).toThrow();
    expect(() => commitRound({ ...commit, roundId: 'round' })).toThrow();
    const facts = { period: 3, genesis: 5, margin: 60, window: 600, chainHash: LEAF };
    const init = { program: key(), payer: key(), founder: key(), committer: key(), receiptKey: key(), ...facts };
    expect(initDraws(init).data).toHaveLength(120);
    expect(() => initDraws({ ...init, period: 2 ** 32 })).toThrow(RangeError);
    expect(() => initDraws({ ...init, margin: -1 })).toThrow(RangeError);
    expect(() => initDraws({ ...init, genesis: 0.5 })).toThrow(RangeError);
    expect(() => initDraws({ ...init, chainHash: 'ff' })).toThrow();
  });

  test('the data of the instructions has the documented layout', () => {
    const data = world.committing({ roundId: ROUND, leaf: LEAF, beaconRound: 0x0102030405 }).data;
    expect(data.toString('hex')).toBe(`0200000000000000${ROUND.replaceAll('-', '')}${LEAF}0504030201000000`);
    const rotate = world.rotating(world.payer.publicKey).data;
    expect(rotate.toString('hex')).toBe(`0100000000000000${world.payer.publicKey.toBuffer().toString('hex')}`);
    const init = world.founding({ period: 3, genesis: 0x0605, margin: 0x3c, window: 0x0258, isDevelopment: true }).data;
    expect(init.subarray(0, 24).toString('hex')).toBe(['00010000', '03000000', '0506000000000000', '3c000000', '58020000'].join(''));
    expect(init.subarray(24)).toEqual(
      Buffer.concat([world.committer.publicKey.toBuffer(), Buffer.from(world.chainHash, 'hex'), world.receiptKey.toBuffer()]),
    );
    expect(changedInstruction(world.founding(), {}).keys.map(({ isSigner, isWritable }) => [isSigner, isWritable])).toEqual([
      [true, true],
      [true, false],
      [false, true],
      [false, false],
    ]);
  });
});
