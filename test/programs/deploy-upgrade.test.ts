import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Keypair, PublicKey } from '@solana/web3.js';
import { programState } from '#platform/solana/deployed-program.ts';
import { deploymentTransactions, upgradeProgram } from '#programs/deploy/loader.ts';
import { PROGRAMS } from '#programs/shared/build.ts';
import { type DeployTest, startDeployTest, type TestDeployment } from './deploy-setup.ts';

const bytesOf = (name: string) => readFileSync(PROGRAMS.find((program) => program.name === name)?.file ?? '');

let t: DeployTest;
beforeAll(async () => {
  t = await startDeployTest();
});
afterAll(() => t?.close());

/** Returns a deployment whose distributor has the bytes of another program. @param spare number of zeros after these bytes */
async function withOtherProgram(upgradeAuthority: (deployment: TestDeployment) => PublicKey, spare = 8_000): Promise<TestDeployment> {
  const deployment = await t.deployment();
  const { deployer, distributor } = deployment.keys;
  const buffer = Keypair.generate();
  const { begin, writes, end } = await deploymentTransactions({
    payer: deployer.publicKey,
    buffer: buffer.publicKey,
    program: distributor.publicKey,
    bytes: Buffer.concat([bytesOf('draws'), Buffer.alloc(spare)]),
    upgradeAuthority: upgradeAuthority(deployment),
    rent: (size) => t.node.rentOf(size),
  });
  await t.chain.send(begin.instructions, [deployer, buffer]);
  for (const { instructions } of writes) await t.chain.send(instructions, [deployer]);
  await t.chain.send(end.instructions, [deployer, distributor]);
  await t.chain.control.advance(10);
  deployment.change(({ distributor: configured }) => Object.assign(configured, { upgradeAuthority: upgradeAuthority(deployment).toBase58() }));
  return deployment;
}

const stateOf = ({ keys }: TestDeployment) => programState(t.node, keys.distributor.publicKey, bytesOf('distributor'));

test('a distributor with other bytes is replaced only with --upgrade; the rent of the buffer comes back', async () => {
  const deployment = await withOtherProgram(({ keys }) => keys.deployer.publicKey);
  const refused = await t.run('apply', deployment);
  expect(refused.error).toBe(`the program at ${deployment.keys.distributor.publicKey} differs from distributor.so; the option --upgrade replaces it`);
  const before = await t.balanceOf(deployment.keys.deployer);
  const plan = await t.run('plan', deployment, { flags: ['--upgrade'] });
  const total = Number(/^total: ([\d,]+) lamports/m.exec(plan.printed)?.[1]?.replaceAll(',', ''));
  expect(await t.run('apply', deployment, { flags: ['--upgrade'] })).toMatchObject({ status: 0, error: null });
  expect(await stateOf(deployment)).toMatchObject({ isEqual: true, upgradeAuthority: deployment.keys.deployer.publicKey.toBase58() });
  expect(before - (await t.balanceOf(deployment.keys.deployer))).toBe(total);
  expect(await t.run('plan', deployment)).toMatchObject({ status: 0 });
});

test('an upgrade can make the program final', async () => {
  const deployment = await withOtherProgram(({ keys }) => keys.deployer.publicKey);
  deployment.change(({ distributor }) => Object.assign(distributor, { upgradeAuthority: 'final' }));
  expect(await t.run('apply', deployment, { flags: ['--upgrade'] })).toMatchObject({ status: 0, error: null });
  expect(await stateOf(deployment)).toMatchObject({ isEqual: true, isFinal: true });
});

test('a program with a multisig as upgrade authority gets a buffer that the multisig deploys', async () => {
  const multisig = Keypair.generate();
  await t.fund(multisig, 1_000_000_000);
  const deployment = await withOtherProgram(() => multisig.publicKey);
  const { error } = await t.run('apply', deployment, { flags: ['--upgrade'] });
  const [, buffer] = /must upgrade the program \w+ with the buffer (\w+); then repeat the command$/.exec(error ?? '') ?? [];
  expect(buffer).toBeDefined();
  const balance = await t.balanceOf(deployment.keys.deployer);
  expect((await t.run('apply', deployment, { flags: ['--upgrade'] })).error).toBe(error);
  expect(await t.balanceOf(deployment.keys.deployer)).toBe(balance);
  await t.chain.send([upgradeProgram(deployment.keys.distributor.publicKey, new PublicKey(buffer ?? ''), multisig.publicKey)], [multisig]);
  await t.chain.control.advance(10);
  expect(await stateOf(deployment)).toMatchObject({ isEqual: true, upgradeAuthority: multisig.publicKey.toBase58() });
  expect(await t.run('apply', deployment)).toMatchObject({ status: 0, error: null });
});

test('a program whose account is too small is an error that names the command for a larger account', async () => {
  const deployment = await withOtherProgram(({ keys }) => keys.deployer.publicKey, 0);
  const { error } = await t.run('plan', deployment, { flags: ['--upgrade'] });
  const missing = bytesOf('distributor').length - bytesOf('draws').length;
  expect(error).toContain(`run solana program extend ${deployment.keys.distributor.publicKey} ${missing}, then repeat the command`);
});

test('a program with an unknown upgrade authority is an error', async () => {
  const stranger = Keypair.generate().publicKey;
  const deployment = await withOtherProgram(() => stranger);
  deployment.change(({ distributor }) => Object.assign(distributor, { upgradeAuthority: 'final' }));
  const { error } = await t.run('plan', deployment, { flags: ['--upgrade'] });
  expect(error).toContain(`is ${stranger}, which is neither the deployer nor distributor.upgradeAuthority`);
});
