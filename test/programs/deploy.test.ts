import { describe, expect, test } from '@jest/globals';
import { Keypair, PublicKey, Transaction } from '@solana/web3.js';
import { deployedProgramMatches, programBytesAddress, programDataAddress, UPGRADEABLE_LOADER } from '#platform/solana/distributor/index.ts';
import { deploymentTransactions } from '#programs/distributor/deploy.ts';
import { FEATURES, Svm, wireOf } from './svm.ts';
import { wallets } from './tree.ts';
import { key, PROGRAM_BYTES, World } from './world.ts';

const LOADER_2 = new PublicKey('BPFLoader2111111111111111111111111111111111');

/** Deploys the program as anybody would, with the writes in no particular order. */
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
  if (!begin || !end) throw new Error('a deployment has a beginning and an end');
  for (const { instructions, signers } of [begin, ...others.toReversed(), end]) {
    const [first, ...rest] = signers.map((signer) => keys[signer]);
    if (first !== payer) throw new Error('the payer signs first');
    svm.must(instructions, [first, ...rest]);
  }
  svm.nextSlot();
  return { ...keys, transactions };
}

describe.each(FEATURES)('the program deployed through the upgradeable loader, %s', (features) => {
  test('runs, and is what was committed', async () => {
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

  test('may be replaced by whom was said, or by nobody', async () => {
    const svm = new Svm(features);
    const authorityOf = (program: PublicKey) => svm.account(programDataAddress(program)).data.subarray(12, 45);
    const somebody = key();
    const kept = await deployed(svm, (payer) => payer);
    expect(authorityOf(kept.program.publicKey)).toEqual(Buffer.concat([Buffer.from([1]), kept.payer.publicKey.toBuffer()]));
    const given = await deployed(svm, () => somebody);
    expect(authorityOf(given.program.publicKey)).toEqual(Buffer.concat([Buffer.from([1]), somebody.toBuffer()]));
    const final = await deployed(svm, () => null);
    expect(authorityOf(final.program.publicKey)[0]).toBe(0);
    const bytes = svm.account(programDataAddress(final.program.publicKey));
    expect(deployedProgramMatches(bytes, PROGRAM_BYTES)).toBe(true);
  });

  test('takes transactions that fit, and no other signature than the payer’s for the writes', async () => {
    const svm = new Svm(features);
    const { payer, transactions } = await deployed(svm, () => key());
    expect(transactions.slice(1, -1).map(({ signers }) => signers)).toEqual(transactions.slice(1, -1).map(() => ['payer']));
    for (const { instructions } of transactions) {
      const tx = new Transaction({ recentBlockhash: PublicKey.default.toBase58(), feePayer: payer.publicKey }).add(...instructions);
      expect(wireOf(tx).length).toBeLessThanOrEqual(1_232 - 60); // room for a compute budget
    }
  });
});

describe('whether the deployed bytes are the committed ones', () => {
  const bytes = Buffer.from([1, 2, 3, 0, 4]);
  const header = Buffer.alloc(45);
  header.writeUInt32LE(3);
  const programData = (...parts: readonly Uint8Array[]) => ({ owner: UPGRADEABLE_LOADER, data: Buffer.concat([header, ...parts]) });

  test('is so byte by byte, zeros behind them aside', () => {
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

  test('is not so for what is no deployed program', () => {
    expect(deployedProgramMatches(null, bytes)).toBe(false);
    expect(deployedProgramMatches({ owner: key(), data: bytes }, bytes)).toBe(false);
    const buffer = Buffer.concat([header, bytes]);
    buffer.writeUInt32LE(1); // the loader's buffer before deployment
    expect(deployedProgramMatches({ owner: UPGRADEABLE_LOADER, data: buffer }, bytes)).toBe(false);
    expect(deployedProgramMatches({ owner: UPGRADEABLE_LOADER, data: Buffer.alloc(3) }, bytes)).toBe(false);
  });

  test('is looked up where the program’s own account says', () => {
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
