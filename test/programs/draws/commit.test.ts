import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Keypair, PublicKey } from '@solana/web3.js';
import { COMMITMENT_BYTES, drawsAddress } from '#platform/solana/draws/index.ts';
import { changedInstruction, key } from '../instructions.ts';
import { FEATURES } from '../svm.ts';
import { DrawsWorld } from './world.ts';

describe.each(FEATURES)('commit, %s', (features) => {
  test('commit creates a commitment account with all fields', () => {
    const world = new DrawsWorld(features);
    world.found();
    const [roundId, leaf] = [randomUUID(), randomBytes(32).toString('hex')];
    world.svm.nextSlot();
    world.must([world.committing({ roundId, leaf, beaconRound: world.ahead(60) })]);
    expect(world.commitment(roundId)).toMatchObject({
      round: roundId,
      beaconRound: world.ahead(60),
      slot: world.svm.slot,
      time: world.svm.now,
      leaf,
      draws: world.draws.toBase58(),
    });
    const { owner, data, lamports } = world.svm.account(world.commitmentOf(roundId));
    expect(owner).toEqual(world.program);
    expect(data).toHaveLength(COMMITMENT_BYTES);
    expect(lamports).toBe(BigInt(world.svm.rent(COMMITMENT_BYTES)));
  });

  test('the committer may pay for commit', () => {
    const world = new DrawsWorld(features);
    world.found();
    const before = world.svm.lamports(world.committer.publicKey);
    world.commit({ payer: world.committer.publicKey });
    expect(before - world.svm.lamports(world.committer.publicKey)).toBe(BigInt(world.svm.rent(COMMITMENT_BYTES)));
  });

  test('a round is committed only once, also with another leaf, another beacon round or later', () => {
    const world = new DrawsWorld(features);
    world.found();
    const [roundId, leaf] = [randomUUID(), randomBytes(32).toString('hex')];
    world.must([world.committing({ roundId, leaf })]);
    const { data } = world.svm.account(world.commitmentOf(roundId));
    expect(world.errorOf([world.committing({ roundId, leaf })])).toBe('AlreadyCommitted');
    expect(world.errorOf([world.committing({ roundId })])).toBe('AlreadyCommitted');
    expect(world.errorOf([world.committing({ roundId, leaf, beaconRound: world.ahead(301) })])).toBe('AlreadyCommitted');
    expect(world.errorOf([world.committing({ roundId, beaconRound: 0 })])).toBe('AlreadyCommitted');
    world.svm.now += 86_400;
    expect(world.errorOf([world.committing({ roundId })])).toBe('AlreadyCommitted');
    expect(world.svm.account(world.commitmentOf(roundId)).data).toEqual(data);
  });

  test('a round is committed only once within one transaction', () => {
    const world = new DrawsWorld(features);
    world.found();
    const roundId = randomUUID();
    const twice = [world.committing({ roundId }), world.committing({ roundId, beaconRound: world.ahead(400) })];
    expect(world.errorOf(twice)).toBe('AlreadyCommitted');
    expect(world.errorOf([twice[0] ?? world.committing(), world.committing(), twice[0] ?? world.committing()])).toBe('AlreadyCommitted');
    expect(world.commitment(roundId)).toBeNull();
    world.must([world.committing({ roundId })]);
  });

  test('every round id of 16 bytes has an address of its own', () => {
    const world = new DrawsWorld(features);
    world.found();
    const ids = ['0', '1', 'f'].map((digit) => '00000000-0000-0000-0000-000000000000'.replaceAll('0', digit));
    const near = ['01000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001'];
    world.must([...ids, ...near].map((roundId) => world.committing({ roundId })));
    for (const roundId of [...ids, ...near]) expect(world.commitment(roundId)?.round).toBe(roundId);
  });

  test('the same round id can be committed under each draws account', () => {
    const world = new DrawsWorld(features);
    const other = Keypair.generate();
    const draws = drawsAddress(world.program, other.publicKey);
    world.found();
    world.must([world.founding({ founder: other.publicKey })], other);
    const roundId = randomUUID();
    world.must([world.committing({ roundId }), world.committing({ roundId, draws })]);
    expect(world.commitment(roundId)?.draws).toBe(world.draws.toBase58());
    expect(world.commitment(roundId, draws)?.draws).toBe(draws.toBase58());
  });

  test('a transaction of several commitments fails as a whole when one is refused', () => {
    const world = new DrawsWorld(features);
    world.found();
    const ids = Array.from({ length: 6 }, () => randomUUID());
    const taken = world.commit();
    const good = ids.map((roundId) => world.committing({ roundId }));
    for (const refused of [world.committing({ roundId: taken }), world.committing({ beaconRound: world.ahead(59) })]) {
      for (const at of [0, 3, 6]) {
        const outcome = world.send([...good.slice(0, at), refused, ...good.slice(at)]);
        expect(outcome.error).toMatch(/^(?:AlreadyCommitted|TooSoon)$/);
        expect(ids.map((roundId) => world.commitment(roundId))).toEqual(ids.map(() => null));
      }
    }
    world.must(good);
    expect(ids.every((roundId) => world.commitment(roundId))).toBe(true);
  });
});

describe.each(FEATURES)('accounts of commit, %s', (features) => {
  test('commit needs the signature of the stored committer', () => {
    const world = new DrawsWorld(features);
    world.found();
    const stranger = Keypair.generate();
    world.svm.fund(stranger.publicKey, 1_000_000_000n);
    const roundId = randomUUID();
    const unsigned = changedInstruction(world.committing({ roundId }), { keys: { 1: { isSigner: false } } });
    expect(world.errorOf([unsigned])).toBe('MissingSignature');
    for (const signer of [stranger, world.founder, world.payer]) {
      expect(world.errorOf([world.committing({ roundId, committer: signer.publicKey })], signer)).toBe('WrongCommitter');
    }
    const byStranger = world.committing({ roundId, payer: stranger.publicKey, committer: stranger.publicKey });
    expect(world.errorOf([byStranger], stranger)).toBe('WrongCommitter');
    expect(world.commitment(roundId)).toBeNull();
  });

  test('the committer of another founder cannot commit, and another draws account gives another address', () => {
    const world = new DrawsWorld(features);
    const other = Keypair.generate();
    const draws = drawsAddress(world.program, other.publicKey);
    world.found();
    world.must([world.founding({ founder: other.publicKey, committer: other.publicKey })], other);
    const roundId = randomUUID();
    const own = world.committing({ roundId, committer: other.publicKey, draws });
    expect(world.errorOf([changedInstruction(own, { keys: { 2: { pubkey: world.draws } } })], other)).toBe('WrongCommitter');
    expect(world.errorOf([changedInstruction(own, { keys: { 3: { pubkey: world.commitmentOf(roundId) } } })], other)).toBe('WrongAddress');
    world.must([own], other);
    expect(world.commitment(roundId)).toBeNull();
    expect(world.errorOf([world.committing({ roundId, draws })])).toBe('WrongCommitter');
  });

  test('commit rejects the address of another round, any other address, and another program as the system program', () => {
    const world = new DrawsWorld(features);
    world.found();
    const taken = world.commit();
    for (const pubkey of [world.commitmentOf(randomUUID()), world.commitmentOf(taken), key(), world.founder.publicKey]) {
      expect(world.errorOf([changedInstruction(world.committing(), { keys: { 3: { pubkey } } })])).toBe('WrongAddress');
    }
    for (const pubkey of [key(), world.program, world.founder.publicKey]) {
      expect(world.errorOf([changedInstruction(world.committing(), { keys: { 4: { pubkey } } })])).toBe('WrongProgram');
    }
  });

  test('commit accepts only a draws account of this program', () => {
    const world = new DrawsWorld(features);
    const copy = new DrawsWorld(features, { svm: world.svm, program: world.addCopy() });
    expect(world.errorOf([world.committing()])).toBe('NotDraws');
    world.found();
    copy.found();
    const taken = world.commit();
    for (const pubkey of [key(), world.commitmentOf(taken), copy.draws]) {
      expect(world.errorOf([changedInstruction(world.committing(), { keys: { 2: { pubkey } } })])).toBe('NotDraws');
      expect(world.errorOf([changedInstruction(world.rotating(key()), { keys: { 1: { pubkey } } })])).toBe('NotDraws');
    }
  });

  test('commit and rotate reject a forged draws account', () => {
    const world = new DrawsWorld(features);
    world.found();
    const real = world.svm.account(world.draws).data;
    const using = (change: Parameters<typeof world.svm.withForgedAccount>[1]) =>
      world.svm.withForgedAccount(world.draws, change, () => [
        ...new Set([world.errorOf([world.committing()]), world.errorOf([world.rotating(world.committer.publicKey)])]),
      ]);
    expect(using({ owner: key() })).toEqual(['NotDraws']);
    expect(using({ data: Buffer.alloc(0) })).toEqual(['NotDraws']);
    expect(using({ data: Buffer.alloc(160) })).toEqual(['NotDraws']);
    expect(using({ data: real.subarray(0, 159) })).toEqual(['NotDraws']);
    expect(using({ data: Buffer.concat([real, Buffer.from([0])]) })).toEqual(['NotDraws']);
    for (let i = 0; i < 9; i++) expect(using(({ data }) => data.writeUInt8((data[i] ?? 0) ^ 1, i))).toEqual(['NotDraws']); // tag and version
    expect(using(({ data }) => data.writeUInt8((data[10] ?? 0) ^ 1, 10))).toEqual(['WrongAddress']); // another bump
    expect(using(({ data }) => data.fill(7, 32, 64))).toEqual(['WrongAddress']); // another founder
    expect(using(({ data }) => data.fill(7, 128, 160))).toEqual([null]); // a receipt key is any 32 bytes
  });

  test('the bump of an account is canonical', () => {
    const world = new DrawsWorld(features);
    world.found();
    const roundId = world.commit();
    expect(world.svm.account(world.draws).data[10]).toBe(world.facts()?.bump);
    const bump = world.commitment(roundId)?.bump ?? 0;
    const seeds = [Buffer.from('commitment'), world.draws.toBuffer(), Buffer.from(roundId.replaceAll('-', ''), 'hex')];
    expect(PublicKey.createProgramAddressSync([...seeds, Buffer.from([bump])], world.program)).toEqual(world.commitmentOf(roundId));
    for (let lower = bump - 1; lower > bump - 20 && lower >= 0; lower--) {
      let pubkey: PublicKey;
      try {
        pubkey = PublicKey.createProgramAddressSync([...seeds, Buffer.from([lower])], world.program);
      } catch {
        continue; // the address is on the curve
      }
      expect(world.errorOf([changedInstruction(world.committing({ roundId }), { keys: { 3: { pubkey } } })])).toBe('WrongAddress');
    }
  });
});
