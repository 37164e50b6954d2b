import type { App } from '#platform/app.ts';

/** The type of the process whose configuration is checked. Workers have the signing keys, API processes must not have them. */
export type ProcessType = 'api' | 'worker';

/** The result of a check. `off`: an optional part is not configured. `warning`: the service runs, but an operator should look at it. */
export type State = 'ok' | 'off' | 'warning' | 'wrong';

export interface Finding {
  readonly state: State;
  /** One sentence or phrase without secrets. */
  readonly what: string;
  /** What an operator must do, one sentence; null when nothing is wrong, or when `what` says it. */
  readonly remedy: string | null;
}

export const ok = (what: string): Finding => ({ state: 'ok', what, remedy: null });
export const off = (what: string): Finding => ({ state: 'off', what, remedy: null });
export const warning = (what: string, remedy: string): Finding => ({ state: 'warning', what, remedy });
export const wrong = (what: string, remedy: string): Finding => ({ state: 'wrong', what, remedy });

/** Returns a finding that is wrong in production and a warning elsewhere. */
export const wrongInProduction = ({ config }: App, what: string, remedy: string): Finding => (config.production ? wrong : warning)(what, remedy);

/** A check of one dependency or one group of settings. It changes nothing that outlives it. */
export interface Check {
  readonly name: string;
  /** Names of the settings without which the check cannot run. */
  readonly settings: readonly string[];
  /** What an operator must do when `run` throws or takes too long. */
  readonly remedy: string;
  /** Whether the service works without the dependency, so that a failure of the check is only a warning. */
  readonly optional?: true;
  run(app: App, process: ProcessType): Promise<readonly Finding[]> | readonly Finding[];
}

/** Returns the message of an error, and in brackets the message of its innermost cause. */
export function reasonOf(error: unknown): string {
  const reason = messageOf(error);
  const cause = innermost(error);
  return cause === error || messageOf(cause) === reason ? reason : `${reason} (${messageOf(cause)})`;
}

const asFields = (error: unknown): { message?: unknown; code?: unknown; cause?: unknown; errors?: unknown } =>
  typeof error === 'object' && error !== null ? error : {};

function innermost(error: unknown): unknown {
  let found = error;
  for (let cause = asFields(found).cause; cause !== undefined && cause !== null; cause = asFields(found).cause) found = cause;
  return found;
}

/** Returns the message of an error. Node reports several failed addresses of one host as an error without a message. */
function messageOf(error: unknown): string {
  const { message, code, errors } = asFields(error);
  if (!message && Array.isArray(errors)) return errors.map(messageOf).join('; ');
  return String(message || code || error);
}
