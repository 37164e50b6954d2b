import { parseArgs } from 'node:util';
import { RpcNode } from '#platform/solana/rpc-node.ts';
import { type Deployment, readDeployment } from './configuration.ts';
import { Deployer, feesOf, type Plan } from './deploy.ts';
import { environmentOf } from './environment.ts';

const USAGE = 'usage: bin/deploy plan|apply CONFIG [--upgrade] [--rotate] (see bin/deploy)';

/** Where a command writes: results to `print`, progress to `report`. */
export interface DeployOutput {
  print(line: string): void;
  report(line: string): void;
}

/** Options that only tests set. */
export interface DeploySeam {
  readonly node?: RpcNode;
  readonly pollMs?: number;
}

/**
 * Runs a command line.
 * @returns the exit status: 0, or 2 when `plan` found steps to carry out
 * @throws with one sentence that says what to do
 */
export async function runDeploy(args: readonly string[], output: DeployOutput, { node, pollMs = 500 }: DeploySeam = {}): Promise<0 | 2> {
  const options = { upgrade: { type: 'boolean', default: false }, rotate: { type: 'boolean', default: false } } as const;
  const { positionals, values } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [command, path, ...rest] = positionals;
  if ((command !== 'plan' && command !== 'apply') || path === undefined || rest.length > 0) throw new Error(USAGE);
  const deployment = readDeployment(path);
  const deployer = new Deployer(deployment, {
    node: node ?? new RpcNode(deployment.rpcUrl, { retriesRateLimit: true }),
    mayUpgrade: values.upgrade,
    mayRotate: values.rotate,
    pollMs,
  });
  if (command === 'plan') {
    await deployer.checkCluster();
    return printPlan(deployment, await deployer.plan(), output);
  }
  await deployer.apply((line) => output.report(line));
  for (const line of environmentOf(deployment)) output.print(line);
  return 0;
}

const lamports = (value: number) => value.toLocaleString('en-US');

/** Prints a plan, with the cost of each step in lamports. */
function printPlan(deployment: Deployment, { steps, balance, needed }: Plan, { print }: DeployOutput): 0 | 2 {
  const { clusterName, deployer, price } = deployment;
  print(
    `cluster ${clusterName}; the deployer ${deployer.publicKey} has ${lamports(balance)} lamports; ${price} millionths of a lamport per compute unit`,
  );
  let [rents, fees] = [0, 0];
  for (const step of steps) {
    if (step.state === 'done') print(`  done     ${step.title}`);
    else if (step.state === 'foreign') print(`  waits    ${step.title}: ${step.instruction}`);
    else {
      rents += step.rent;
      fees += feesOf(step, deployment);
      print(`  to do    ${step.title}: rent ${lamports(step.rent)}, fees ${lamports(feesOf(step, deployment))}`);
    }
  }
  if (steps.every(({ state }) => state === 'done')) {
    print('nothing to do');
    return 0;
  }
  print(`total: ${lamports(rents + fees)} lamports (rent ${lamports(rents)}, fees ${lamports(fees)})`);
  if (balance < needed)
    print(`the deployer needs ${lamports(needed)} lamports, with the minimum balance of its account: send it ${lamports(needed - balance)}`);
  return 2;
}

if (import.meta.main) {
  try {
    process.exitCode = await runDeploy(process.argv.slice(2), { print: console.log, report: console.error });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
