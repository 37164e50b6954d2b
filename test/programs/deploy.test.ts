import { describe, expect, test } from '@jest/globals';
import { Keypair, PublicKey, Transaction } from '@solana/web3.js';
import { deployedProgramMatches, programBytesAddress, programDataAddress, UPGRADEABLE_LOADER } from '#platform/solana/distributor/index.ts';
import { deploymentTransactions } from '#programs/distributor/deploy.ts';
import { FEATURES, Svm, wireOf } from './svm.ts';
import { wallets } from './tree.ts';
import { key, PROGRAM_BYTES, World } from './world.ts';

const LOADER_2 = new PublicKey('BPFLoader2111111111111111111111111111111111');

/** Deploys the program, with the writes in another order. */
async function deployed(svm: Svm, upgradeAuthority: (payer: PublicKey) => PublicKey | null) {
  const keys = { payer: Keypair.generate(), buffer: Keypair.generate(), program: Keypair.generate() };
  svm.fund(keys.payer.publicKey, 10_000_000_000n);
  const { payer, buffer, program } = keys;
  const transactions = await deploymentTransactions({
    payer: payer.publicKey,
    buffer: buffer.publicKey,
    program: program.publicKey,
    bytes: PROGRAM_BYTES,
    upgradeAuthority: upgradeAuthority(payer.publicKey),
    rent: (bytes) => svm.rent(bytes),
  });
  const [begin, ...others] = transactions;
  const end = others.pop();
  if (!begin || !end) throw new Error('the deployment has fewer than two transactions');
  for (const { instructions, signers } of [begin, ...others.toReversed(), end]) {
    const [first, ...rest] = signers.map((signer) => keys[signer]);
    if (first !== payer) throw new Error('the first signer is not the payer');
    svm.must(instructions, [first, ...rest]);
  }
  svm.nextSlot();
  return { ...keys, transactions };
}

describe.each(FEATURES)('the program deployed through the upgradeable loader, %s', (features) => {
  test('the deployed program runs and equals the committed program', async () => {
    const world = new World(features);
    const { program } = await deployed(world.svm, (payer) => payer);
    const [account, data] = [program.publicKey, programDataAddress(program.publicKey)].map((address) => world.svm.account(address));
    expect(account).toMatchObject({ owner: UPGRADEABLE_LOADER, executable: true });
    expect(programBytesAddress(program.publicKey, account ?? null)).toEqual(programDataAddress(program.publicKey));
    expect(deployedProgramMatches(data ?? null, PROGRAM_BYTES)).toBe(true);

    const copy = new World(features, { svm: world.svm, program: program.publicKey });
    const epoch = copy.open(copy.mint(), wallets(2));
    copy.claim(epoch, 0);
    expect(copy.paid(epoch, 0)).toBe(1_000n);
  });

  test('the deployed program has the given upgrade authority, or none when it is final', async () => {
    const svm = new Svm(features);
    const authorityOf = (program: PublicKey) => svm.account(programDataAddress(program)).data.subarray(12, 45);
    const authority = key();
    const upgradeable = await deployed(svm, (payer) => payer);
    expect(authorityOf(upgradeable.program.publicKey)).toEqual(Buffer.concat([Buffer.from([1]), upgradeable.payer.publicKey.toBuffer()]));
    const handedOver = await deployed(svm, () => authority);
    expect(authorityOf(handedOver.program.publicKey)).toEqual(Buffer.concat([Buffer.from([1]), authority.toBuffer()]));
    const final = await deployed(svm, () => null);
    expect(authorityOf(final.program.publicKey)[0]).toBe(0);
    const bytes = svm.account(programDataAddress(final.program.publicKey));
    expect(deployedProgramMatches(bytes, PROGRAM_BYTES)).toBe(true);
  });

  test('the deployment transactions fit the size limit, and only the payer signs the writes', async () => {
    const svm = new Svm(features);
    const { payer, transactions } = await deployed(svm, () => key());
    expect(transactions.slice(1, -1).map(({ signers }) => signers)).toEqual(transactions.slice(1, -1).map(() => ['payer']));
    for (const { instructions } of transactions) {
      const tx = new Transaction({ recentBlockhash: PublicKey.default.toBase58(), feePayer: payer.publicKey }).add(...instructions);
      expect(wireOf(tx).length).toBeLessThanOrEqual(1_232 - 60); // leaves room for a compute budget
    }
  });
});

describe('deployedProgramMatches and programBytesAddress', () => {
  const bytes = Buffer.from([1, 2, 3, 0, 4]);
  const header = Buffer.alloc(45);
  header.writeUInt32LE(3);
  const programData = (...parts: readonly Uint8Array[]) => ({ owner: UPGRADEABLE_LOADER, data: Buffer.concat([header, ...parts]) });

  test('deployedProgramMatches compares all bytes and ignores zeros after them', () => {
    expect(deployedProgramMatches(programData(bytes), bytes)).toBe(true);
    expect(deployedProgramMatches(programData(bytes, Buffer.alloc(100)), bytes)).toBe(true);
    expect(deployedProgramMatches(programData(bytes, Buffer.from([0, 1])), bytes)).toBe(false);
    expect(deployedProgramMatches(programData(bytes.subarray(0, 4)), bytes)).toBe(false);
    expect(deployedProgramMatches(programData(Buffer.from([1, 2, 3, 0, 5])), bytes)).toBe(false);
    expect(deployedProgramMatches(programData(), bytes)).toBe(false);
    expect(deployedProgramMatches(programData(), Buffer.alloc(0))).toBe(false);
    expect(deployedProgramMatches({ owner: LOADER_2, data: bytes }, bytes)).toBe(true);
    expect(deployedProgramMatches({ owner: LOADER_2, data: bytes.subarray(1) }, bytes)).toBe(false);
  });

  test('deployedProgramMatches returns false for an account that is not a deployed program', () => {
    expect(deployedProgramMatches(null, bytes)).toBe(false);
    expect(deployedProgramMatches({ owner: key(), data: bytes }, bytes)).toBe(false);
    const buffer = Buffer.concat([header, bytes]);
    buffer.writeUInt32LE(1); // a buffer account of the loader
    expect(deployedProgramMatches({ owner: UPGRADEABLE_LOADER, data: buffer }, bytes)).toBe(false);
    expect(deployedProgramMatches({ owner: UPGRADEABLE_LOADER, data: Buffer.alloc(3) }, bytes)).toBe(false);
  });

  test('programBytesAddress returns the account of the bytes for each loader', () => {
    const program = key();
    const state = Buffer.alloc(36);
    state.writeUInt32LE(2);
    programDataAddress(program).toBuffer().copy(state, 4);
    expect(programBytesAddress(program, { owner: UPGRADEABLE_LOADER, data: state })).toEqual(programDataAddress(program));
    expect(programBytesAddress(program, { owner: LOADER_2, data: bytes })).toEqual(program);
    expect(programBytesAddress(key(), { owner: UPGRADEABLE_LOADER, data: state })).toBeNull();
    expect(programBytesAddress(program, { owner: UPGRADEABLE_LOADER, data: Buffer.alloc(36) })).toBeNull();
    expect(programBytesAddress(program, { owner: UPGRADEABLE_LOADER, data: state.subarray(0, 35) })).toBeNull();
    expect(programBytesAddress(program, { owner: key(), data: state })).toBeNull();
    expect(programBytesAddress(program, null)).toBeNull();
  });
});
