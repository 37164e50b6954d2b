import { describe, expect, test } from '@jest/globals';
import { Keypair } from '@solana/web3.js';
import { DRAWS_BYTES, drawsAddress } from '#platform/solana/draws/index.ts';
import { changedInstruction, key } from '../instructions.ts';
import { FEATURES } from '../svm.ts';
import { DrawsWorld } from './world.ts';

const MIN_I64 = -(2n ** 63n);
const MAX_I64 = 2n ** 63n - 1n;

/** Changes the genesis in the data of init_draws to any value of 64 bits. */
const withGenesis = (world: DrawsWorld, genesis: bigint, isDevelopment = false) =>
  changedInstruction(world.founding({ isDevelopment }), {
    data: (data) => {
      data.writeBigInt64LE(genesis, 8);
      return data;
    },
  });

describe.each(FEATURES)('init_draws, %s', (features) => {
  test('init_draws creates a draws account with all fields', () => {
    const world = new DrawsWorld(features);
    world.found({ period: 3, margin: 120, window: 480 });
    expect(world.facts()).toMatchObject({
      isDevelopment: false,
      period: 3,
      genesis: world.genesis,
      margin: 120,
      window: 480,
      founder: world.founder.publicKey.toBase58(),
      committer: world.committer.publicKey.toBase58(),
      chainHash: world.chainHash,
      receiptKey: world.receiptKey.toBase58(),
    });
    const { owner, data, lamports } = world.svm.account(world.draws);
    expect(owner).toEqual(world.program);
    expect(data).toHaveLength(DRAWS_BYTES);
    expect(lamports).toBe(BigInt(world.svm.rent(DRAWS_BYTES)));
  });

  test('the founder may pay for init_draws, and the committer may be the founder', () => {
    const world = new DrawsWorld(features);
    world.found({ payer: world.founder.publicKey, committer: world.founder.publicKey });
    expect(world.facts()?.committer).toBe(world.founder.publicKey.toBase58());
    world.commit({ committer: world.founder.publicKey });
  });

  test('a founder creates a draws account only once, also within one transaction and with other facts', () => {
    const world = new DrawsWorld(features);
    expect(world.errorOf([world.founding(), world.founding({ margin: 61 })])).toBe('AlreadyFounded');
    expect(world.facts()).toBeNull();
    world.found();
    const before = world.svm.account(world.draws).data;
    expect(world.errorOf([world.founding()])).toBe('AlreadyFounded');
    expect(world.errorOf([world.founding({ committer: key(), isDevelopment: true })])).toBe('AlreadyFounded');
    expect(world.svm.account(world.draws).data).toEqual(before);
  });

  test('a stranger cannot create the draws account of a founder', () => {
    const world = new DrawsWorld(features);
    const stranger = Keypair.generate();
    const unsigned = changedInstruction(world.founding({ committer: stranger.publicKey }), { keys: { 1: { isSigner: false } } });
    expect(world.errorOf([unsigned])).toBe('MissingSignature');
    const asFounder = changedInstruction(world.founding(), { keys: { 1: { pubkey: stranger.publicKey } } });
    expect(world.errorOf([asFounder], stranger)).toBe('WrongAddress');
    expect(world.facts()).toBeNull();
    world.found();
  });

  test('each founder has an address of its own', () => {
    const world = new DrawsWorld(features);
    const other = Keypair.generate();
    world.found();
    world.must([world.founding({ founder: other.publicKey })], other);
    const address = drawsAddress(world.program, other.publicKey);
    expect(address).not.toEqual(world.draws);
    expect(world.facts(address)?.founder).toBe(other.publicKey.toBase58());
  });

  test('init_draws rejects another address than the canonical address of the founder', () => {
    const world = new DrawsWorld(features);
    const other = drawsAddress(world.program, key());
    for (const pubkey of [other, key(), world.committer.publicKey, drawsAddress(key(), world.founder.publicKey)]) {
      expect(world.errorOf([changedInstruction(world.founding(), { keys: { 2: { pubkey } } })])).toBe('WrongAddress');
    }
  });

  test('init_draws rejects another program as the system program', () => {
    const world = new DrawsWorld(features);
    for (const pubkey of [key(), world.program]) {
      expect(world.errorOf([changedInstruction(world.founding(), { keys: { 3: { pubkey } } })])).toBe('WrongProgram');
    }
  });
});

describe.each(FEATURES)('limits of init_draws, %s', (features) => {
  test.each([
    [{ margin: 59 }, 'BadMargin'],
    [{ margin: 0 }, 'BadMargin'],
    [{ margin: 60 }, null],
    [{ margin: 600, window: 600 }, null],
    [{ margin: 601, window: 601 }, 'BadWindow'],
    [{ margin: 60, window: 59 }, 'BadWindow'],
    [{ margin: 60, window: 60 }, null],
    [{ margin: 60, window: 601 }, 'BadWindow'],
    [{ margin: 60, window: 0 }, 'BadWindow'],
    [{ margin: 2 ** 32 - 1, window: 2 ** 32 - 1 }, 'BadWindow'],
    [{ period: 0 }, 'BadPeriod'],
    [{ period: 86_400 }, null],
    [{ period: 86_401 }, 'BadPeriod'],
    [{ period: 2 ** 32 - 1 }, 'BadPeriod'],
  ])('init_draws with %j has the error %s, and none with the development flag', (change, error) => {
    const world = new DrawsWorld(features);
    expect(world.errorOf([world.founding(change)])).toBe(error);
    if (error === null) return;
    world.found({ ...change, isDevelopment: true });
    expect(world.facts()).toMatchObject({ ...change, isDevelopment: true });
  });

  test('init_draws accepts a genesis from 1 to now, and any genesis with the development flag', () => {
    const world = new DrawsWorld(features);
    const now = BigInt(world.svm.now);
    for (const genesis of [0n, -1n, MIN_I64, now + 1n, MAX_I64]) {
      expect(world.errorOf([withGenesis(world, genesis)])).toBe('BadGenesis');
      const development = new DrawsWorld(features);
      development.must([withGenesis(development, genesis, true)]);
      expect(development.svm.account(development.draws).data.readBigInt64LE(16)).toBe(genesis);
    }
    for (const genesis of [1n, now]) {
      const accepting = new DrawsWorld(features);
      accepting.must([withGenesis(accepting, genesis)]);
    }
  });

  test('init_draws with a clock before 1970 rejects every genesis', () => {
    const world = new DrawsWorld(features);
    for (const now of [0n, -1n, MIN_I64]) {
      world.svm.now = now;
      for (const genesis of [1n, 0n, now]) expect(world.errorOf([withGenesis(world, genesis)])).toBe('BadGenesis');
    }
  });

  test('init_draws rejects unknown flags', () => {
    const world = new DrawsWorld(features);
    for (const flags of [2, 3, 4, 128, 255]) {
      expect(world.errorOf([changedInstruction(world.founding(), { data: (data) => data.fill(flags, 1, 2) })])).toBe('BadInstruction');
    }
  });
});

describe.each(FEATURES)('rotate, %s', (features) => {
  test('rotate replaces only the committer', () => {
    const world = new DrawsWorld(features);
    world.found();
    const before = world.svm.account(world.draws).data;
    const next = key();
    world.must([world.rotating(next)]);
    const expected = Buffer.from(before);
    next.toBuffer().copy(expected, 64);
    expect(world.svm.account(world.draws).data).toEqual(expected);
    expect(world.facts()?.committer).toBe(next.toBase58());
  });

  test('a key that was rotated away cannot commit, and the next key can', () => {
    const world = new DrawsWorld(features);
    world.found();
    const roundId = world.commit();
    const commitment = world.commitment(roundId);
    const next = Keypair.generate();
    const byNext = () => world.committing({ committer: next.publicKey });
    expect(world.errorOf([byNext()], next)).toBe('WrongCommitter');
    expect(world.errorOf([world.rotating(next.publicKey), world.committing()], next)).toBe('WrongCommitter');
    world.must([world.committing(), world.rotating(next.publicKey), byNext()], next);
    expect(world.errorOf([world.committing()])).toBe('WrongCommitter');
    world.must([byNext()], next);
    expect(world.commitment(roundId)).toEqual(commitment);
    world.must([world.rotating(world.committer.publicKey)]);
    world.commit();
  });

  test('only the founder can rotate', () => {
    const world = new DrawsWorld(features);
    world.found();
    const stranger = Keypair.generate();
    const rotating = world.rotating(stranger.publicKey);
    expect(world.errorOf([changedInstruction(rotating, { keys: { 0: { isSigner: false } } })])).toBe('MissingSignature');
    for (const signer of [stranger, world.committer, world.payer]) {
      expect(world.errorOf([changedInstruction(rotating, { keys: { 0: { pubkey: signer.publicKey } } })], signer)).toBe('WrongFounder');
    }
    world.must([world.founding({ founder: stranger.publicKey })], stranger);
    expect(world.errorOf([changedInstruction(rotating, { keys: { 0: { pubkey: stranger.publicKey } } })], stranger)).toBe('WrongFounder');
    expect(world.facts()?.committer).toBe(world.committer.publicKey.toBase58());
  });

  test('rotate fails while the founder has no draws account', () => {
    const world = new DrawsWorld(features);
    expect(world.errorOf([world.rotating(key())])).toBe('NotDraws');
  });
});
