import {
  PROGRAM_ACCOUNT_BYTES,
  PROGRAM_DATA_HEADER_BYTES,
  type ProgramState,
  programDataAddress,
  stateOfProgram,
} from '#platform/solana/deployed-program.ts';
import { type Deployment, signerOf } from './configuration.ts';
import type { Draft } from './landing.ts';
import {
  BUFFER_HEADER_BYTES,
  bufferAuthority,
  closeBuffer,
  type DeploymentTransaction,
  deploymentTransactions,
  setAuthority,
  upgradeProgram,
} from './loader.ts';
import { bufferOf, type ProgramFile } from './program-file.ts';
import type { ClusterState } from './state.ts';
import { done, open, type Step } from './step.ts';

/** What the steps of a program are made of. */
interface Context {
  readonly state: ClusterState;
  readonly deployment: Deployment;
  readonly file: ProgramFile;
}

/**
 * Returns the steps that deploy a program, or replace it, and that set its upgrade authority.
 * @param mayUpgrade whether a deployed program with other bytes may be replaced
 * @throws when the address has another account, or another program that the deployer may not replace
 */
export async function programSteps(state: ClusterState, deployment: Deployment, file: ProgramFile, mayUpgrade: boolean): Promise<Step[]> {
  const { address, field } = file.program;
  const account = state.account(address);
  const context = { state, deployment, file };
  const found = stateOfProgram(address, [account, state.account(programDataAddress(address))], file.bytes);
  if (found?.isEqual) return [done(`${file.name} is deployed at ${address}`), authorityStep(context, found), ...strayBufferStep(context)];
  if (found) return await upgradeSteps(context, found, mayUpgrade);
  if (account !== null) throw new Error(`${field} must be another key, because ${address} has an account that is not a program`);
  return await deploySteps(context);
}

const describe = ({ upgradeAuthority }: ProgramFile) => (upgradeAuthority === null ? 'final' : `with the upgrade authority ${upgradeAuthority}`);

/** Returns the step that makes a deployed program final or hands its upgrade authority over. */
function authorityStep({ deployment: { deployer }, file }: Context, { upgradeAuthority }: ProgramState): Step {
  const wanted = file.upgradeAuthority?.toBase58() ?? null;
  const title = `${file.name} is ${describe(file)}`;
  if (upgradeAuthority === wanted) return done(title);
  const { address } = file.program;
  if (upgradeAuthority === null) throw new Error(`distributor.upgradeAuthority must be final, because nobody can change ${address} any more`);
  if (upgradeAuthority !== deployer.publicKey.toBase58())
    return {
      state: 'foreign',
      title,
      instruction: `${upgradeAuthority} is the upgrade authority of ${address}, and only this key can make the program ${describe(file)}`,
    };
  return open(`make ${file.name} ${describe(file)}`, 0, {
    instructions: [setAuthority(programDataAddress(address), deployer.publicKey, file.upgradeAuthority)],
    signers: [deployer],
  });
}

/**
 * Returns the step that deletes the buffer of a deployed program. A buffer exists again when a transaction of an interrupted command lands after a
 * repeated command has deployed the program.
 */
function strayBufferStep({ state, deployment: { deployer }, file }: Context): Step[] {
  const { publicKey } = bufferOf(deployer, file);
  const account = state.account(publicKey);
  if (account === null || bufferAuthority(account) !== deployer.publicKey.toBase58()) return [];
  const draft: Draft = { instructions: [closeBuffer(publicKey, deployer.publicKey)], signers: [deployer] };
  return [open(`close the buffer account ${publicKey} of ${file.name}, which is deployed`, -account.lamports, draft)];
}

async function deploySteps(context: Context): Promise<Step[]> {
  const { state, deployment, file } = context;
  const { deployer } = deployment;
  const program = signerOf(file.program, `${file.name} is not deployed yet`);
  const { buffer, steps } = await bufferSteps(context);
  const { end } = await transactionsOf(context);
  const rents = await Promise.all([PROGRAM_ACCOUNT_BYTES, PROGRAM_DATA_HEADER_BYTES + file.bytes.length].map((bytes) => state.rentOf(bytes)));
  const rent = rents.reduce((sum, lamports) => sum + lamports, -buffer.lamports);
  return [...steps, open(`deploy ${file.name} at ${program.publicKey}, ${describe(file)}`, rent, { ...end, signers: [deployer, program] })];
}

/** Returns the steps that replace the bytes of a deployed program. */
async function upgradeSteps(context: Context, found: ProgramState, mayUpgrade: boolean): Promise<Step[]> {
  const { deployment, file } = context;
  const { deployer } = deployment;
  const { address, field } = file.program;
  const authority = found.upgradeAuthority;
  if (authority === null || !file.isUpgradeable)
    throw new Error(`${field} must be another key, because ${address} has another program than ${file.name}`);
  if (!mayUpgrade) throw new Error(`the program at ${address} differs from ${file.name}; the option --upgrade replaces it`);
  if (found.capacity < file.bytes.length)
    throw new Error(
      `${file.name} has ${file.bytes.length} bytes, and the account of the program ${address} only ${found.capacity}: run solana program extend ${address} ${file.bytes.length - found.capacity}, then repeat the command`,
    );
  const isOwn = authority === deployer.publicKey.toBase58();
  if (!isOwn && authority !== file.upgradeAuthority?.toBase58())
    throw new Error(`the upgrade authority of ${address} is ${authority}, which is neither the deployer nor distributor.upgradeAuthority`);
  const { buffer, steps } = await bufferSteps(context, isOwn ? null : authority);
  const title = `upgrade ${address} to ${file.name}, ${describe(file)}`;
  const key = bufferOf(deployer, file).publicKey;
  if (!isOwn)
    return [
      ...steps,
      {
        state: 'foreign',
        title,
        instruction: `the upgrade authority ${authority} must upgrade the program ${address} with the buffer ${key}; then repeat the command`,
      },
    ];
  const handOver = file.upgradeAuthority?.equals(deployer.publicKey)
    ? []
    : [setAuthority(programDataAddress(address), deployer.publicKey, file.upgradeAuthority)];
  const draft: Draft = { instructions: [upgradeProgram(address, key, deployer.publicKey), ...handOver], signers: [deployer] };
  return [...steps, open(title, -buffer.lamports, draft)];
}

/**
 * Returns the steps that store the bytes of the program in the buffer account, and the lamports that this account has afterwards.
 * @param owner the authority that gets the buffer in the end; null when the deployer keeps it
 */
async function bufferSteps(context: Context, owner: string | null = null): Promise<{ steps: Step[]; buffer: { lamports: number } }> {
  const { state, deployment, file } = context;
  const { deployer } = deployment;
  const key = bufferOf(deployer, file);
  const account = state.account(key.publicKey);
  const authority = account === null ? deployer.publicKey.toBase58() : bufferAuthority(account);
  if (authority !== deployer.publicKey.toBase58() && (authority === null || authority !== owner))
    throw new Error(`the account ${key.publicKey} must be a buffer account of the deployer: restore its authority, or change distributor.program`);
  const { begin, writes } = await transactionsOf(context);
  const rent = await state.rentOf(BUFFER_HEADER_BYTES + file.bytes.length);
  const draftOf = ({ instructions, signers }: DeploymentTransaction): Draft => ({
    instructions,
    signers: signers.includes('buffer') ? [deployer, key] : [deployer],
  });
  const missing = writes.filter(({ at, chunk }) => account === null || !account.data.subarray(at, at + chunk.length).equals(chunk));
  const created = `create the buffer account ${key.publicKey} for ${file.name}`;
  const written = `write ${missing.length || 'all'} of ${writes.length} parts of ${file.name} into the buffer`;
  const steps: Step[] = [
    account === null ? open(created, rent, draftOf(begin)) : done(created),
    missing.length === 0 ? done(written) : { state: 'open', title: written, rent: 0, drafts: missing.map(draftOf), isSimulated: false },
  ];
  if (owner !== null) {
    const instruction = setAuthority(key.publicKey, deployer.publicKey, file.upgradeAuthority);
    const title = `hand the buffer of ${file.name} over to ${owner}`;
    steps.push(authority === owner ? done(title) : open(title, 0, { instructions: [instruction], signers: [deployer] }));
  }
  return { steps, buffer: { lamports: account?.lamports ?? rent } };
}

const transactionsOf = ({ state, deployment: { deployer }, file }: Context) =>
  deploymentTransactions({
    payer: deployer.publicKey,
    buffer: bufferOf(deployer, file).publicKey,
    program: file.program.address,
    bytes: file.bytes,
    upgradeAuthority: file.upgradeAuthority,
    rent: (bytes) => state.rentOf(bytes),
  });
