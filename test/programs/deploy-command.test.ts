import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Keypair } from '@solana/web3.js';
import { QUICKNET } from '#lib/draw/beacon-chain.ts';
import { programState } from '#platform/solana/deployed-program.ts';
import { decodeDraws, drawsAddress, drawsProgramState } from '#platform/solana/draws/index.ts';
import { RpcNode } from '#platform/solana/rpc-node.ts';
import { runDeploy } from '#programs/deploy/main.ts';
import { PROGRAMS } from '#programs/shared/build.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { key } from './instructions.ts';

/** An address that has no private key. */
const DERIVED = drawsAddress(key(), key()).toBase58();

let chain: TestChain;
let node: RpcNode;
let folder: string;
let payer: Keypair;
beforeAll(async () => {
  chain = await startTestChain();
  node = new RpcNode(chain.localnet.url);
  folder = mkdtempSync(join(tmpdir(), 'deploy-'));
  payer = await chain.fundWallet({ lamports: 100_000_000_000 });
});
afterAll(async () => {
  await chain?.close();
  if (folder) rmSync(folder, { recursive: true });
});

/** Writes a secret key to a file. @returns the path */
function fileOf(signer: Keypair): string {
  const file = join(folder, `${signer.publicKey.toBase58()}.json`);
  writeFileSync(file, JSON.stringify([...signer.secretKey]), { mode: 0o600 });
  return file;
}

/** Runs bin/deploy with the RPC URL and the payer. @returns the printed lines */
async function deploy(command: string, options: Record<string, string | true>): Promise<string> {
  const given: Record<string, string | true> = { rpc: chain.localnet.url, payer: fileOf(payer), 'poll-ms': '20', ...options };
  const lines: string[] = [];
  const args = Object.entries(given).flatMap(([name, value]) => (value === true ? [`--${name}`] : [`--${name}`, String(value)]));
  await runDeploy([command, ...args], (line) => lines.push(line));
  return lines.join('\n');
}

const bytesOf = (name: string) => readFileSync(PROGRAMS.find((program) => program.name === name)?.file ?? '');
const lamports = () => chain.connection.getBalance(payer.publicKey);

describe('bin/deploy draws', () => {
  test('the program is deployed final, and a second call changes nothing', async () => {
    const program = Keypair.generate();
    const printed = await deploy('draws', { program: fileOf(program) });
    expect(printed).toContain(`deployed ${bytesOf('draws').length} bytes at ${program.publicKey.toBase58()}, final`);
    expect(await drawsProgramState(node, program.publicKey)).toBe('ours');
    const before = await lamports();
    expect(await deploy('draws', { program: fileOf(program) })).toContain('is already deployed');
    expect(await lamports()).toBe(before);
  });

  test('an interrupted deployment continues with the same buffer', async () => {
    const program = Keypair.generate();
    await chain.control.fault({ kind: 'fail', methods: ['simulateTransaction'], times: 1 });
    await expect(deploy('draws', { program: fileOf(program) })).rejects.toThrow('does not answer');
    const before = await lamports();
    const printed = await deploy('draws', { program: fileOf(program) });
    expect(printed).not.toContain('writing');
    expect(await drawsProgramState(node, program.publicKey)).toBe('ours');
    // The rent of the buffer pays a part of the rent of the program, and no second buffer was paid.
    expect(before - (await lamports())).toBeLessThan((await node.rentOf(36)) + (await node.rentOf(45)) + 50_000);
  });

  test('the deployment succeeds while the cluster drops transactions and its replies get lost', async () => {
    const program = Keypair.generate();
    await chain.control.fault({ kind: 'drop', methods: ['sendTransaction'], times: 5 });
    await chain.control.fault({ kind: 'loseReply', methods: ['sendTransaction'], times: 3 });
    await deploy('draws', { program: fileOf(program) });
    expect(await drawsProgramState(node, program.publicKey)).toBe('ours');
  });

  test('a program with other bytes or with an upgrade authority is an error', async () => {
    await expect(deploy('draws', { program: fileOf(chain.keys.program) })).rejects.toThrow('another program is deployed');
    const upgradeable = Keypair.generate();
    await deploy('distributor', { program: fileOf(upgradeable), 'upgrade-authority': key().toBase58() });
    await expect(deploy('distributor', { program: fileOf(upgradeable), 'upgrade-authority': 'none' })).rejects.toThrow('has an upgrade authority');
  });

  test('if the cluster rejects the program, the rent of the buffer goes back to the payer', async () => {
    // An account exists at the address of the program, so the cluster rejects the last transaction.
    const program = await chain.fundWallet({ lamports: 1_000_000_000 });
    const before = await lamports();
    await expect(deploy('draws', { program: fileOf(program) })).rejects.toThrow('the cluster rejects the program, so the buffer was deleted');
    expect(before - (await lamports())).toBeLessThan(200_000); // only fees
  });
});

describe('bin/deploy distributor', () => {
  test('the upgrade authority must be given, and may be none', async () => {
    const program = Keypair.generate();
    await expect(deploy('distributor', { program: fileOf(program) })).rejects.toThrow('--upgrade-authority is missing');
    await deploy('distributor', { program: fileOf(program), 'upgrade-authority': 'none' });
    expect(await programState(node, program.publicKey, bytesOf('distributor'))).toEqual({ isEqual: true, isFinal: true });
  });
});

describe('bin/deploy init-draws and rotate', () => {
  const founder = Keypair.generate();
  const [committer, receiptKey] = [key(), key()];
  const program = () => chain.keys.drawsProgram.publicKey;
  const options = () => ({
    program: program().toBase58(),
    founder: fileOf(founder),
    committer: committer.toBase58(),
    'receipt-key': receiptKey.toBase58(),
  });
  const facts = async (of = founder) => decodeDraws(program(), (await node.account(drawsAddress(program(), of.publicKey), 'finalized')).account);

  test('init-draws creates the draws account for drand quicknet and prints it', async () => {
    const printed = await deploy('init-draws', options());
    const expected = {
      isDevelopment: false,
      period: 3,
      genesis: QUICKNET.genesisTime,
      margin: 60,
      window: 600,
      founder: founder.publicKey.toBase58(),
      committer: committer.toBase58(),
      chainHash: QUICKNET.chainHash,
      receiptKey: receiptKey.toBase58(),
    };
    expect(await facts()).toMatchObject(expected);
    expect(JSON.parse(printed)).toMatchObject({ draws: drawsAddress(program(), founder.publicKey).toBase58(), ...expected });
    await expect(deploy('init-draws', options())).rejects.toThrow('failed: {"InstructionError":');
  });

  test('rotate replaces the committer', async () => {
    const next = key();
    expect(JSON.parse(await deploy('rotate', { ...options(), committer: next.toBase58() })).committer).toBe(next.toBase58());
    expect((await facts())?.committer).toBe(next.toBase58());
  });

  test('init-draws accepts the limits of development only with the flag', async () => {
    const other = Keypair.generate();
    const short = { ...options(), founder: fileOf(other), margin: '1', window: '10' };
    await expect(deploy('init-draws', short)).rejects.toThrow('failed');
    const beacon = { 'chain-hash': 'ab'.repeat(32), period: '2', genesis: '7' };
    await deploy('init-draws', { ...short, ...beacon, development: true });
    expect(await facts(other)).toMatchObject({ isDevelopment: true, margin: 1, window: 10, chainHash: beacon['chain-hash'], period: 2, genesis: 7 });
  });

  test('init-draws uses only the final draws program', async () => {
    const { program: distributor } = chain.keys;
    const using = (address: string) => deploy('init-draws', { ...options(), program: address });
    await expect(using(distributor.publicKey.toBase58())).rejects.toThrow('is not the final draws program: differs');
    await expect(using(key().toBase58())).rejects.toThrow('missing');
  });

  test.each([
    [{ committer: 'nobody' }, '--committer must be an address'],
    [{ margin: '-1' }, 'margin'],
    [{ margin: '1.5' }, '--margin must be a whole number'],
    [{ 'chain-hash': 'ff' }, 'another beacon than drand quicknet needs --development'],
    [{ period: '5' }, 'another beacon than drand quicknet needs --development'],
    [{ development: true as const, genesis: '5' }, '--chain-hash is missing'],
    [{ development: true as const, 'chain-hash': 'ff' }, '64 lower-case hexadecimal digits'],
    [{ 'receipt-key': DERIVED }, '--receipt-key must be a public key'],
    [{ committer: DERIVED }, '--committer must be a public key'],
    [{ 'receipt-key': '' }, '--receipt-key is missing'],
  ])('init-draws with %j is an error', async (change, message) => {
    await expect(deploy('init-draws', { ...options(), ...change })).rejects.toThrow(message);
  });

  test('a key file with other content is an error that does not show the content', async () => {
    const file = join(folder, 'wrong.json');
    writeFileSync(file, 'secret words');
    await expect(deploy('rotate', { ...options(), founder: file })).rejects.toThrow('must contain a secret key');
    await expect(deploy('rotate', { ...options(), founder: file })).rejects.not.toThrow('secret words');
  });

  test('an unknown command prints the usage', async () => {
    await expect(runDeploy([], () => {})).rejects.toThrow('usage: bin/deploy');
    await expect(runDeploy(['everything'], () => {})).rejects.toThrow('usage: bin/deploy');
    await expect(runDeploy(['draws', 'distributor'], () => {})).rejects.toThrow('usage: bin/deploy');
  });
});
