import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Keypair, PublicKey } from '@solana/web3.js';
import { readConfig } from '#config';
import { QUICKNET } from '#lib/draw/beacon-chain.ts';
import { programState } from '#platform/solana/deployed-program.ts';
import { decodeDraws, drawsAddress, drawsProgramState } from '#platform/solana/draws/index.ts';
import { laneAddress } from '#platform/solana/nonce-lanes.ts';
import { decodeNonce } from '#platform/solana/system-program.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { runDeploy } from '#programs/deploy/main.ts';
import { PROGRAMS } from '#programs/shared/build.ts';
import { type DeployTest, startDeployTest, type TestDeployment } from './deploy-setup.ts';
import { key } from './instructions.ts';

/** The feature that lets a cluster run programs of SBPF version 3. */
const FEATURE = '5cC3foj77CWun58pC51ebHFUWavHWKarWyR5UUik7dnC';

const bytesOf = (name: string) => readFileSync(PROGRAMS.find((program) => program.name === name)?.file ?? '');

let t: DeployTest;
beforeAll(async () => {
  t = await startDeployTest();
});
afterAll(() => t?.close());

/** Returns the lamports that a plan prints as its total. */
const totalOf = (printed: string) => Number(/^total: ([\d,]+) lamports/m.exec(printed)?.[1]?.replaceAll(',', ''));

async function expectDeployed({ keys }: TestDeployment, upgradeAuthority: string | null): Promise<void> {
  const state = await programState(t.node, keys.distributor.publicKey, bytesOf('distributor'));
  expect(state).toMatchObject({ isEqual: true, upgradeAuthority });
  expect(await drawsProgramState(t.node, keys.draws.publicKey)).toBe('ours');
  const { rewardMint, usdcMint } = t.chain.keys;
  const treasury = keys.treasury.publicKey;
  const program = keys.draws.publicKey;
  const addresses = [
    ...[rewardMint, usdcMint].map((mint) => associatedTokenAddress(treasury, mint.publicKey)),
    drawsAddress(program, keys.founder.publicKey),
    ...[0, 1].map((lane) => laneAddress(keys.feePayer.publicKey, lane)),
  ];
  const [reward = null, usdc = null, draws = null, ...lanes] = (await t.node.accounts(addresses, 'finalized')).accounts;
  expect([reward, usdc].map((account) => decodeTokenAccount(account)?.owner.toBase58())).toEqual([treasury.toBase58(), treasury.toBase58()]);
  expect(lanes.map((account) => decodeNonce(account)?.authority)).toEqual([keys.feePayer.publicKey.toBase58(), keys.feePayer.publicKey.toBase58()]);
  expect(decodeDraws(program, draws)).toMatchObject({
    isDevelopment: false,
    period: 3,
    genesis: QUICKNET.genesisTime,
    margin: 60,
    window: 600,
    founder: keys.founder.publicKey.toBase58(),
    committer: keys.committer.publicKey.toBase58(),
    chainHash: QUICKNET.chainHash,
    receiptKey: keys.receiptKey.publicKey.toBase58(),
  });
}

describe('bin/deploy on a cluster without the accounts of the service', () => {
  test('plan prints the exact cost, apply deploys everything for this cost, and a second run changes nothing', async () => {
    const deployment = await t.deployment();
    const before = await t.balanceOf(deployment.keys.deployer);
    const plan = await t.run('plan', deployment);
    expect(plan).toMatchObject({ status: 2, error: null });
    expect(await t.balanceOf(deployment.keys.deployer)).toBe(before);

    const applied = await t.run('apply', deployment);
    expect(applied).toMatchObject({ status: 0, error: null });
    await expectDeployed(deployment, null);
    const after = await t.balanceOf(deployment.keys.deployer);
    expect(before - after).toBe(totalOf(plan.printed));

    const again = await t.run('plan', deployment);
    expect(again).toMatchObject({ status: 0, error: null, printed: expect.stringMatching(/nothing to do$/) });
    expect(await t.run('apply', deployment)).toEqual({ ...applied, reported: [] });
    expect(await t.balanceOf(deployment.keys.deployer)).toBe(after);
  });

  test('apply prints settings that the service reads, with the paths of the key files and without keys', async () => {
    const deployment = await t.deployment();
    const multisig = key();
    deployment.change(({ distributor }) => Object.assign(distributor, { upgradeAuthority: multisig.toBase58() }));
    const { printed } = await t.run('apply', deployment);
    await expectDeployed(deployment, multisig.toBase58());
    const lines = printed.split('\n').filter((line) => !line.startsWith('#'));
    const env = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
    const { keys } = deployment;
    const { chain } = readConfig(env);
    expect(chain).toMatchObject({
      rpcUrl: t.chain.localnet.url.replace(/\/$/, ''),
      programId: keys.distributor.publicKey.toBase58(),
      upgradeAuthority: multisig.toBase58(),
      drawsProgramId: keys.draws.publicKey.toBase58(),
      drawsAddress: drawsAddress(keys.draws.publicKey, keys.founder.publicKey).toBase58(),
      addresses: { treasury: keys.treasury.publicKey.toBase58(), committer: keys.committer.publicKey.toBase58() },
      payouts: { lanes: 2 },
    });
    expect(chain.secrets.feePayer).toEqual({ file: expect.stringContaining(keys.feePayer.publicKey.toBase58()) });
    expect(printed).toContain(`# TREASURY_KEY: the file of the key ${keys.treasury.publicKey}`);
    expect(printed).not.toContain(String(keys.feePayer.secretKey[0]).concat(','));
    const known = [...printed.matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);
    const documented = readFileSync('docs/operations.md', 'utf8');
    expect(known.filter((name) => !documented.includes(`\`${name}\``))).toEqual([]);
  });

  test('the deployment succeeds while the cluster drops transactions and its replies get lost, for the same cost', async () => {
    const deployment = await t.deployment();
    const before = await t.balanceOf(deployment.keys.deployer);
    const { printed } = await t.run('plan', deployment);
    await t.chain.control.fault({ kind: 'drop', methods: ['sendTransaction'], times: 5 });
    await t.chain.control.fault({ kind: 'loseReply', methods: ['sendTransaction'], times: 3 });
    expect(await t.run('apply', deployment)).toMatchObject({ status: 0 });
    await expectDeployed(deployment, null);
    expect(before - (await t.balanceOf(deployment.keys.deployer))).toBe(totalOf(printed));
  });
});

test('a transaction of bin/deploy that expires is signed again with twice the priority price', async () => {
  const deployment = await t.deployment();
  const { printed } = await t.run('plan', deployment);
  const before = await t.balanceOf(deployment.keys.deployer);
  await t.chain.control.fault({ kind: 'drop', methods: ['sendTransaction'] });
  const applying = t.run('apply', deployment);
  await sleep(500);
  await t.chain.control.advance(170);
  await t.chain.control.clear();
  expect(await applying).toMatchObject({ status: 0, error: null });
  const more = before - (await t.balanceOf(deployment.keys.deployer)) - totalOf(printed);
  // The priority fee of one transaction is 2,000 lamports at the first price.
  expect(more).toBeGreaterThanOrEqual(2_000);
  expect(more % 2_000).toBe(0);
});

describe('bin/deploy refuses with one sentence, before it spends anything', () => {
  /** Runs both commands, which must fail with the same sentence and without a cost. */
  async function refused(deployment: TestDeployment, message: string, flags: readonly string[] = []): Promise<void> {
    const before = await t.balanceOf(deployment.keys.deployer);
    for (const command of ['plan', 'apply'] as const) {
      const { status, error } = await t.run(command, deployment, { flags });
      expect({ status, error }).toEqual({ status: 1, error: expect.stringContaining(message) });
    }
    expect(await t.balanceOf(deployment.keys.deployer)).toBe(before);
  }

  test('the cluster has another genesis hash', async () => {
    const deployment = await t.deployment();
    deployment.change((configuration) => Object.assign(configuration, { cluster: 'devnet' }));
    await refused(deployment, `cluster is devnet, but rpcUrl leads to a cluster with the genesis hash ${await t.node.genesisHash()}`);
  });

  test('the feature of the programs is not active on the cluster', async () => {
    const deployment = await t.deployment();
    const { account } = await t.node.account(new PublicKey(FEATURE), 'finalized');
    const owner = 'Feature111111111111111111111111111111111111';
    const write = async (data: Uint8Array | null) => {
      const active = data === null ? {} : { account: { lamports: 953_520, owner, data: Buffer.from(data).toString('base64') } };
      await t.chain.control.setAccounts([{ address: FEATURE, ...active }]);
      await t.chain.control.advance(10);
    };
    const sentence = `distributor.so cannot run on this cluster until its feature enable_sbpf_v3_deployment_and_execution (${FEATURE}) is active`;
    await write(null);
    await refused(deployment, sentence);
    await write(Buffer.alloc(9));
    await refused(deployment, sentence);
    await write(account?.data ?? null);
    expect((await t.run('plan', deployment)).status).toBe(2);
  });

  test('another program is at the address, and nobody can replace it', async () => {
    const deployment = await t.deployment();
    const { program, drawsProgram } = t.chain.keys;
    deployment.change(({ distributor }) => Object.assign(distributor, { program: drawsProgram.publicKey.toBase58() }));
    await refused(deployment, `distributor.program must be another key, because ${drawsProgram.publicKey} has another program than distributor.so`);
    const other = await t.deployment();
    other.change(({ draws }) => Object.assign(draws, { program: program.publicKey.toBase58() }));
    await refused(other, `draws.program must be another key, because ${program.publicKey} has another program than draws.so`, ['--upgrade']);
  });

  test('an account that is not a program is at the address', async () => {
    const deployment = await t.deployment();
    await t.fund(deployment.keys.distributor, 1_000_000);
    await refused(deployment, 'distributor.program must be another key');
  });

  test('the deployer has one lamport too little; with this lamport, the deployment succeeds', async () => {
    const rich = await t.deployment();
    const { printed } = await t.run('plan', rich);
    const minimum = await t.node.rentOf(0);
    const poor = await t.deployment(totalOf(printed) + minimum - 1);
    const { status, error } = await t.run('apply', poor);
    expect({ status, error }).toEqual({ status: 1, error: expect.stringMatching(/needs \d+ lamports and has \d+: send it 1 lamports$/) });
    expect((await t.run('plan', poor)).printed).toMatch(/send it 1$/m);
    await t.fund(poor.keys.deployer, 1);
    expect(await t.run('apply', poor)).toMatchObject({ status: 0 });
    expect(await t.balanceOf(poor.keys.deployer)).toBe(minimum);
    await expectDeployed(poor, null);
  });

  test.each<[change: Parameters<TestDeployment['change']>[0], message: string]>([
    [(c) => Object.assign(c.mints, { usdc: key().toBase58() }), 'mints.usdc must be a mint of the SPL token program on this cluster'],
    [(c) => Object.assign(c.mints, { reward: 'nothing' }), 'mints.reward must be an address'],
    [(c) => Object.assign(c.draws, { founder: key().toBase58() }), 'draws.founder must be the file of the key'],
    [(c) => Object.assign(c.draws, { program: c.distributor.program }), 'distributor.program and draws.program must be two keys'],
    [(c) => Object.assign(c.roles, { committer: drawsAddress(key(), key()).toBase58() }), 'roles.committer must be the address of a key'],
    [(c) => Object.assign(c.roles, { feePayer: 'missing.json' }), 'roles.feePayer must be an address or the file of a key'],
    [
      (c) => Object.assign(c.distributor, { upgradeAuthority: c.roles.treasury }),
      'distributor.upgradeAuthority must be another key than roles.treasury',
    ],
    [(c) => Object.assign(c.distributor, { upgradeAuthority: 'none' }), 'distributor.upgradeAuthority must be an address or final'],
    [(c) => Object.assign(c, { cluster: 'mainnet' }), 'must be mainnet-beta, testnet, devnet, or a genesis hash'],
    [(c) => Object.assign(c, { payoutLanes: 65 }), 'payoutLanes'],
    [(c) => Object.assign(c, { other: 1 }), 'other'],
  ])('the configuration is wrong (case %#)', async (change, message) => {
    const deployment = await t.deployment();
    deployment.change(change);
    await refused(deployment, message);
  });

  test('a key file with another content; the sentence does not show the content', async () => {
    const deployment = await t.deployment();
    deployment.change(({ roles }) => Object.assign(roles, { feePayer: t.fileOf('wrong.json', 'secret words') }));
    await refused(deployment, 'roles.feePayer: the file');
    expect((await t.run('plan', deployment)).error).not.toContain('secret words');
  });

  test('programs/deploy/example.json has the form of a configuration', async () => {
    const output = { print: () => {}, report: () => {} };
    await expect(runDeploy(['plan', 'programs/deploy/example.json'], output)).rejects.toThrow(/^deployer must be an address or the file of a key/);
  });

  test('the command line has no configuration or an unknown command', async () => {
    const output = { print: () => {}, report: () => {} };
    for (const args of [[], ['plan'], ['everything', 'x.json'], ['plan', 'x.json', 'y.json']])
      await expect(runDeploy(args, output)).rejects.toThrow('usage: bin/deploy');
    await expect(runDeploy(['plan', 'missing.json'], output)).rejects.toThrow('missing.json must be a readable JSON file');
  });
});

describe('bin/deploy on a cluster with the accounts of the service', () => {
  test('the committer is replaced only with --rotate', async () => {
    const deployment = await t.deployment();
    expect(await t.run('apply', deployment)).toMatchObject({ status: 0 });
    const next = Keypair.generate().publicKey.toBase58();
    deployment.change(({ roles }) => Object.assign(roles, { committer: next }));
    expect((await t.run('apply', deployment)).error).toContain('the option --rotate replaces it');
    expect((await t.run('plan', deployment, { flags: ['--rotate'] })).printed).toContain(`to do    replace the committer by ${next}`);
    expect(await t.run('apply', deployment, { flags: ['--rotate'] })).toMatchObject({ status: 0, reported: [`replace the committer by ${next}`] });
    expect(await t.run('plan', deployment)).toMatchObject({ status: 0 });
  });

  test('without the key of the fee payer, the payout lanes are left to the workers, and the deployment succeeds', async () => {
    const deployment = await t.deployment();
    const feePayer = deployment.keys.feePayer.publicKey.toBase58();
    deployment.change(({ roles }) => Object.assign(roles, { feePayer }));
    const { status, printed } = await t.run('apply', deployment);
    expect(status).toBe(0);
    expect(printed).toContain(`# FEE_PAYER_KEY: the file of the key ${feePayer}, or a signer (docs/signers.md)`);
    const plan = await t.run('plan', deployment);
    expect(plan).toMatchObject({ status: 0, printed: expect.stringContaining('leave the payout lanes 0, 1 to the workers') });
  });

  test('other facts of the draws account are refused, because they can never change', async () => {
    const deployment = await t.deployment();
    await t.run('apply', deployment);
    deployment.change(({ draws }) => Object.assign(draws, { marginSec: 90 }));
    expect((await t.run('apply', deployment)).error).toContain('has another margin (60, not 90), which can never change');
  });

  test('a program that the deployer can still change is handed over, or made final', async () => {
    const deployment = await t.deployment();
    const own = deployment.keys.deployer.publicKey.toBase58();
    deployment.change(({ distributor }) => Object.assign(distributor, { upgradeAuthority: own }));
    expect(await t.run('apply', deployment)).toMatchObject({ status: 0 });
    await expectDeployed(deployment, own);
    const multisig = key().toBase58();
    deployment.change(({ distributor }) => Object.assign(distributor, { upgradeAuthority: multisig }));
    expect(await t.run('apply', deployment)).toMatchObject({ status: 0, reported: [`make distributor.so with the upgrade authority ${multisig}`] });
    await expectDeployed(deployment, multisig);
    deployment.change(({ distributor }) => Object.assign(distributor, { upgradeAuthority: 'final' }));
    expect((await t.run('apply', deployment)).error).toContain(`${multisig} is the upgrade authority of`);
  });
});
