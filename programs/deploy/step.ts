import type { Draft } from './landing.ts';

/** A part of a deployment. Each plan has all parts, also those that are done. */
export type Step = DoneStep | OpenStep | ForeignStep;

/** A step whose effect is on the chain. */
export interface DoneStep {
  readonly state: 'done';
  readonly title: string;
}

/** A step that the deployer carries out. */
export interface OpenStep {
  readonly state: 'open';
  readonly title: string;
  /** Lamports that the deployer pays besides the fees; negative when lamports come back. */
  readonly rent: number;
  /** The transactions of the step. They may be sent in parallel and repeated. */
  readonly drafts: readonly Draft[];
  /** Whether the cluster simulates the transactions before they are sent, so that no fee is paid for one that would fail. */
  readonly isSimulated: boolean;
}

/** A step that only the holder of another key can carry out. */
export interface ForeignStep {
  readonly state: 'foreign';
  readonly title: string;
  /** The sentence that says what the holder must do. */
  readonly instruction: string;
}

export const done = (title: string): DoneStep => ({ state: 'done', title });

/** Returns a step of one transaction. */
export const open = (title: string, rent: number, draft: Draft): OpenStep => ({ state: 'open', title, rent, drafts: [draft], isSimulated: true });
