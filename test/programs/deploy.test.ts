import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Keypair, PublicKey, Transaction } from '@solana/web3.js';
import { programDataAddress, stateOfProgram, UPGRADEABLE_LOADER } from '#platform/solana/deployed-program.ts';
import { deploymentTransactions } from '#programs/deploy/loader.ts';
import { PROGRAMS } from '#programs/shared/build.ts';
import { wallets } from './distributor/tree.ts';
import { World } from './distributor/world.ts';
import { DrawsWorld } from './draws/world.ts';
import { key } from './instructions.ts';
import { FEATURES, Svm, wireOf } from './svm.ts';

const LOADER_2 = new PublicKey('BPFLoader2111111111111111111111111111111111');

const bytesOf = (name: string) => readFileSync(PROGRAMS.find((program) => program.name === name)?.file ?? '');

/** Deploys a program, with the writes in another order. */
async function deployed(svm: Svm, bytes: Buffer, upgradeAuthority: (payer: PublicKey) => PublicKey | null) {
  const keys = { payer: Keypair.generate(), buffer: Keypair.generate(), program: Keypair.generate() };
  svm.fund(keys.payer.publicKey, 10_000_000_000n);
  const { payer, buffer, program } = keys;
  const { begin, writes, end } = await deploymentTransactions({
    payer: payer.publicKey,
    buffer: buffer.publicKey,
    program: program.publicKey,
    bytes,
    upgradeAuthority: upgradeAuthority(payer.publicKey),
    rent: (size) => svm.rent(size),
  });
  for (const { instructions, signers } of [begin, ...writes.toReversed(), end]) {
    const [first, ...rest] = signers.map((signer) => keys[signer]);
    if (first !== payer) throw new Error('the first signer is not the payer');
    svm.must(instructions, [first, ...rest]);
  }
  svm.nextSlot();
  return { ...keys, begin, writes, end };
}

const stateOf = (svm: Svm, program: PublicKey, bytes: Uint8Array) =>
  stateOfProgram(program, [svm.get(program), svm.get(programDataAddress(program))], bytes);

describe.each(FEATURES)('programs deployed through the upgradeable loader, %s', (features) => {
  test('the deployed distributor runs and equals the committed program', async () => {
    const svm = new Svm(features);
    const { program } = await deployed(svm, bytesOf('distributor'), (payer) => payer);
    expect(svm.account(program.publicKey)).toMatchObject({ owner: UPGRADEABLE_LOADER, executable: true });
    expect(stateOf(svm, program.publicKey, bytesOf('distributor'))).toMatchObject({ isEqual: true, isFinal: false });

    const world = new World(features, { svm, program: program.publicKey });
    const epoch = world.open(world.mint(), wallets(2));
    world.claim(epoch, 0);
    expect(world.paid(epoch, 0)).toBe(1_000n);
  });

  test('the deployed draws program runs, equals the committed program and is final', async () => {
    const svm = new Svm(features);
    const { program } = await deployed(svm, bytesOf('draws'), () => null);
    expect(stateOf(svm, program.publicKey, bytesOf('draws'))).toMatchObject({ isEqual: true, isFinal: true });
    expect(stateOf(svm, program.publicKey, bytesOf('distributor'))).toMatchObject({ isEqual: false, isFinal: true });

    const world = new DrawsWorld(features, { svm, program: program.publicKey });
    world.found();
    world.commit();
  });

  test('the deployed program has the given upgrade authority, or none when it is final', async () => {
    const svm = new Svm(features);
    const bytes = bytesOf('draws');
    const authorityOf = (program: PublicKey) => svm.account(programDataAddress(program)).data.subarray(12, 45);
    const authority = key();
    const upgradeable = await deployed(svm, bytes, (payer) => payer);
    expect(authorityOf(upgradeable.program.publicKey)).toEqual(Buffer.concat([Buffer.from([1]), upgradeable.payer.publicKey.toBuffer()]));
    expect(stateOf(svm, upgradeable.program.publicKey, bytes)).toMatchObject({ isEqual: true, isFinal: false });
    const handedOver = await deployed(svm, bytes, () => authority);
    expect(authorityOf(handedOver.program.publicKey)).toEqual(Buffer.concat([Buffer.from([1]), authority.toBuffer()]));
    const final = await deployed(svm, bytes, () => null);
    expect(authorityOf(final.program.publicKey)[0]).toBe(0);
    expect(stateOf(svm, final.program.publicKey, bytes)).toMatchObject({ isEqual: true, isFinal: true });
  });

  test('the deployment transactions fit the size limit, and only the payer signs the writes', async () => {
    const svm = new Svm(features);
    const { payer, begin, writes, end } = await deployed(svm, bytesOf('distributor'), () => key());
    expect(writes.map(({ signers }) => signers)).toEqual(writes.map(() => ['payer']));
    for (const { instructions } of [begin, ...writes, end]) {
      const tx = new Transaction({ recentBlockhash: PublicKey.default.toBase58(), feePayer: payer.publicKey }).add(...instructions);
      expect(wireOf(tx).length).toBeLessThanOrEqual(1_232 - 60); // leaves room for a compute budget
    }
  });
});

describe('stateOfProgram', () => {
  const bytes = Buffer.from([1, 2, 3, 0, 4]);
  const program = key();
  const state = Buffer.alloc(36);
  state.writeUInt32LE(2);
  programDataAddress(program).toBuffer().copy(state, 4);
  const account = { owner: UPGRADEABLE_LOADER, data: state };
  const header = Buffer.alloc(45);
  header.writeUInt32LE(3);
  const programData = (...parts: readonly Uint8Array[]) => ({ owner: UPGRADEABLE_LOADER, data: Buffer.concat([header, ...parts]) });
  const isEqual = (data: Parameters<typeof stateOfProgram>[1][number], expected: Uint8Array = bytes) =>
    stateOfProgram(program, [account, data], expected)?.isEqual;

  test('stateOfProgram compares all bytes and ignores zeros after them', () => {
    expect(isEqual(programData(bytes))).toBe(true);
    expect(isEqual(programData(bytes, Buffer.alloc(100)))).toBe(true);
    expect(isEqual(programData(bytes, Buffer.from([0, 1])))).toBe(false);
    expect(isEqual(programData(bytes.subarray(0, 4)))).toBe(false);
    expect(isEqual(programData(bytes.subarray(0, 3), Buffer.from([0, 5])))).toBe(false);
    expect(isEqual(programData())).toBe(false);
    expect(isEqual(programData(), Buffer.alloc(0))).toBe(false);
    expect(stateOfProgram(program, [{ owner: LOADER_2, data: bytes }], bytes)).toMatchObject({ isEqual: true, isFinal: true });
    expect(stateOfProgram(program, [{ owner: LOADER_2, data: bytes.subarray(1) }], bytes)).toMatchObject({ isEqual: false, isFinal: true });
  });

  test('stateOfProgram calls a program final only when it has no upgrade authority', () => {
    const upgradeable = Buffer.from(header);
    const isFinal = (flag: number) => {
      upgradeable[12] = flag;
      return stateOfProgram(program, [account, { owner: UPGRADEABLE_LOADER, data: Buffer.concat([upgradeable, bytes]) }], bytes)?.isFinal;
    };
    expect([0, 1, 2, 255].map(isFinal)).toEqual([true, false, false, false]);
  });

  test('stateOfProgram returns null for an account that is not a deployed program', () => {
    const data = programData(bytes);
    const using = (...accounts: Parameters<typeof stateOfProgram>[1]) => stateOfProgram(program, accounts, bytes);
    expect(using(account, data)).not.toBeNull();
    expect(using()).toBeNull();
    expect(using(null, data)).toBeNull();
    expect(using(account, null)).toBeNull();
    expect(using(account)).toBeNull();
    expect(using({ owner: key(), data: state }, data)).toBeNull();
    expect(using({ owner: UPGRADEABLE_LOADER, data: Buffer.alloc(36) }, data)).toBeNull();
    expect(using({ owner: UPGRADEABLE_LOADER, data: state.subarray(0, 35) }, data)).toBeNull();
    expect(stateOfProgram(key(), [account, data], bytes)).toBeNull(); // the program data of another program
    expect(using(account, { ...data, owner: key() })).toBeNull();
    expect(using(account, { owner: UPGRADEABLE_LOADER, data: Buffer.alloc(3) })).toBeNull();
    const buffer = Buffer.from(data.data);
    buffer.writeUInt32LE(1); // a buffer account of the loader
    expect(using(account, { owner: UPGRADEABLE_LOADER, data: buffer })).toBeNull();
  });
});
