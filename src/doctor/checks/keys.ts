import { statSync } from 'node:fs';
import { type Check, type Finding, ok, type ProcessType, reasonOf, warning, wrong } from '#doctor/check.ts';
import type { App } from '#platform/app.ts';
import { CHECK_MESSAGE, isSigner, PREFIX_OF, ROLES, type Role } from '#platform/solana/signers/index.ts';

/** Returns the setting with which this process signs for a role, or could sign. */
function settingOf({ config }: App, role: Role): string {
  const source = config.chain.secrets[role];
  return `${PREFIX_OF[role]}_${source !== null && isSigner(source) ? 'SIGNER' : 'KEY'}`;
}

/** The queues whose jobs sign with the key of a role. */
const QUEUES_OF: Readonly<Record<Role, readonly string[]>> = {
  feePayer: ['sign-commitments', 'sign-roots', 'sign-payouts', 'sign-claims', 'payouts'],
  epochAuthority: ['sign-roots'],
  treasury: ['sign-roots', 'sign-payouts', 'payouts'],
  committer: ['sign-commitments'],
};

/** Returns the addresses of the roles that are configured and can be read. */
export function addressesOfRoles(app: App): { readonly role: Role; readonly setting: string; readonly address: string }[] {
  return ROLES.flatMap((role) => {
    try {
      const { secrets, addresses } = app.config.chain;
      const address = secrets[role] === null ? addresses[role] : app.chain.key(role).publicKey.toBase58();
      return address === null ? [] : [{ role, setting: settingOf(app, role), address }];
    } catch {
      return [];
    }
  });
}

/** Checks whether the process has the keys that it needs, whether the keys of the roles differ, and whether each signer signs. */
export const keys: Check = {
  name: 'keys',
  settings: [
    'QUEUES',
    ...Object.values(PREFIX_OF).flatMap((prefix) => ['KEY', 'SIGNER', 'SIGNER_TOKEN', 'ADDRESS'].map((end) => `${prefix}_${end}`)),
  ],
  remedy: 'Correct the keys.',
  async run(app, process) {
    const ofRoles = await Promise.all(ROLES.map((role) => checkKey(app, process, role)));
    const findings = [...ofRoles.flat(), ...checkAddresses(app), ...findShared(app)];
    return findings.length > 0
      ? findings
      : [ok(process === 'worker' ? 'the worker has the keys that it needs, and they differ' : 'the addresses of the keys are set')];
  },
};

async function checkKey(app: App, process: ProcessType, role: Role): Promise<Finding[]> {
  const { secrets, programId } = app.config.chain;
  const { queues } = app.config;
  const setting = settingOf(app, role);
  const secret = secrets[role];
  if (process === 'api') {
    return secret === null ? [] : [warning(`${setting} is set, but API processes do not sign`, `Give ${setting} to workers only.`)];
  }
  if (secret === null) {
    const isNeeded = programId !== null && (queues.length === 0 || queues.some((name) => QUEUES_OF[role].includes(name)));
    return isNeeded
      ? [
          wrong(
            `${setting} is missing, but the worker serves queues that sign with it`,
            `Set ${setting} to the path of a key file, or set ${PREFIX_OF[role]}_SIGNER.`,
          ),
        ]
      : [];
  }
  if (isSigner(secret)) return await trySigner(app, role, setting);
  try {
    app.chain.key(role);
  } catch (error) {
    const how = 'It must be a JSON array of 64 numbers, 64 bytes in base58, or the absolute path of a file with one of these.';
    return [wrong(`${setting} cannot be read: ${reasonOf(error)}`, how)];
  }
  if ('file' in secret && (statSync(secret.file).mode & 0o077) !== 0) {
    return [warning(`other users of this machine may read the file of ${setting}`, `Run: chmod 600 ${secret.file}`)];
  }
  return [];
}

/** Asks the signer of a role to sign a message that can never be a transaction. */
async function trySigner(app: App, role: Role, setting: string): Promise<Finding[]> {
  try {
    await app.chain.key(role).sign(CHECK_MESSAGE);
    return [];
  } catch (error) {
    const how = `Correct ${setting} or ${PREFIX_OF[role]}_ADDRESS, or repair the signer; docs/signers.md describes its answers.`;
    return [wrong(`${setting} cannot be used: ${reasonOf(error)}`, how)];
  }
}

/** Compares the configured addresses with the keys of this process. A fee payer and an epoch authority need no address besides their key. */
function checkAddresses(app: App): Finding[] {
  const { secrets, addresses, programId } = app.config.chain;
  return ROLES.flatMap((role): Finding[] => {
    const setting = `${PREFIX_OF[role]}_ADDRESS`;
    if (addresses[role] === null) {
      const isNeeded = role === 'treasury' || role === 'committer';
      if (!isNeeded || secrets[role] !== null || programId === null) return [];
      return [wrong(`${setting} is missing`, `Set ${setting} to the address of ${settingOf(app, role)}.`)];
    }
    try {
      app.chain.address(role);
      return [];
    } catch (error) {
      return secrets[role] === null
        ? []
        : [wrong(`${setting} is not usable: ${reasonOf(error)}`, `Set ${setting} to the address of ${settingOf(app, role)}.`)];
    }
  });
}

/** Finds roles that share a key. A shared key of the treasury is wrong, because a leak of the other role's key would cost the tokens. */
function findShared(app: App): Finding[] {
  const roles = addressesOfRoles(app);
  return roles.flatMap((one, i) =>
    roles.slice(i + 1).flatMap((other) => {
      if (one.address !== other.address) return [];
      const finding = [one.role, other.role].includes('treasury') ? wrong : warning;
      return [finding(`${one.setting} and ${other.setting} are the same key`, 'Create a key of its own for each role, and rotate one of them.')];
    }),
  );
}
