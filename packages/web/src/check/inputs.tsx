import { useId } from 'preact/hooks';
import { settings } from '../settings.ts';
import { readItem, writeItem } from '../ui/storage.ts';
import type { Kind } from './words.ts';

/** The values of the fields. An empty text means the default. */
export interface Choice {
  readonly rpc: string;
  readonly beacon: string;
  /** Addresses that the visitor knows, by name. */
  readonly pins: Readonly<Record<string, string>>;
}

const ITEM = 'coinop:check';

/** Addresses that a visitor may know from another source, by the name that the verifier uses. */
export const PINS: Readonly<Record<Kind, readonly (readonly [name: string, label: string])[]>> = {
  round: [
    ['draws', 'Address of the draws account'],
    ['treasury', 'Address of the treasury'],
  ],
  epoch: [
    ['program', 'Address of the distributor program'],
    ['authority', 'Address of the epoch authority'],
    ['mint', 'Address of the reward token'],
  ],
  score: [],
};

/** Returns the values of the last check in this browser; otherwise the defaults, which are empty in production. */
export function readChoice(): Choice {
  const text = readItem('local', ITEM);
  const stored: Partial<Choice> = text === null ? {} : JSON.parse(text);
  return { rpc: stored.rpc ?? settings.rpc ?? '', beacon: stored.beacon ?? settings.beacon ?? '', pins: stored.pins ?? {} };
}

export const storeChoice = (choice: Choice): void => writeItem('local', ITEM, JSON.stringify(choice));

/** Returns why a URL cannot be used; null when it can. */
export function urlFault(text: string): string | null {
  if (!URL.canParse(text)) return 'Enter the whole URL, for example https://api.mainnet-beta.solana.com';
  const { protocol, hostname } = new URL(text);
  const isLocal = hostname === 'localhost' || hostname === '127.0.0.1';
  return protocol === 'https:' || (protocol === 'http:' && isLocal) ? null : 'The URL must begin with https://, or with http://localhost';
}

/** The fields of a check: the RPC node, and for experts the beacon and known addresses. */
export function Inputs({ kind, choice, change, fault }: { kind: Kind; choice: Choice; change: (choice: Choice) => void; fault: string | null }) {
  const id = useId();
  return (
    <>
      <div class="field">
        <label for={`${id}-rpc`}>Your Solana RPC node</label>
        <input
          id={`${id}-rpc`}
          type="url"
          inputMode="url"
          autoComplete="off"
          spellcheck={false}
          placeholder="https://"
          value={choice.rpc}
          aria-invalid={fault !== null}
          aria-describedby={`${id}-help`}
          onInput={({ currentTarget }) => change({ ...choice, rpc: currentTarget.value })}
        />
        <p class="quiet" id={`${id}-help`}>
          {fault ??
            'Choose a node that you trust and that the arcade does not run. It must let web pages read its answers. This browser remembers it.'}
        </p>
      </div>
      <details>
        <summary>Addresses that you know</summary>
        <p class="quiet">
          A check takes an address on the word of the arcade unless you enter it here. Enter addresses that you have from another source.
        </p>
        {PINS[kind].map(([name, label]) => (
          <div class="field" key={name}>
            <label for={`${id}-${name}`}>{label}</label>
            <input
              id={`${id}-${name}`}
              autoComplete="off"
              spellcheck={false}
              value={choice.pins[name] ?? ''}
              onInput={({ currentTarget }) => change({ ...choice, pins: { ...choice.pins, [name]: currentTarget.value.trim() } })}
            />
          </div>
        ))}
        {kind === 'round' && (
          <div class="field">
            <label for={`${id}-beacon`}>Randomness beacon</label>
            <input
              id={`${id}-beacon`}
              type="url"
              autoComplete="off"
              spellcheck={false}
              placeholder="The public mirrors of drand"
              value={choice.beacon}
              onInput={({ currentTarget }) => change({ ...choice, beacon: currentTarget.value.trim() })}
            />
          </div>
        )}
      </details>
    </>
  );
}
