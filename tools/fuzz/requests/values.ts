import { type ClientState, singular } from '../client-state.ts';
import { lastOf, type Schema } from '../document.ts';
import type { Random } from '../random.ts';
import { textMatching } from './patterns.ts';

/** Maximum depth of generated values. Objects at a greater depth have only their required fields. */
const MAX_DEPTH = 6;
const MAX_ITEMS = 4;
const WORDS = ['Friday', 'night', 'draw', 'über', '星', 'night-2', 'x', '🕹️'];

/** Generates values that match a schema. Fields that need an existing id get a known id. */
export class Values {
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly #state: ClientState;
  readonly #random: Random;

  constructor(schemas: Readonly<Record<string, Schema>>, state: ClientState, random: Random) {
    this.#schemas = schemas;
    this.#state = state;
    this.#random = random;
  }

  /**
   * Returns a random value that matches a schema.
   * @param name the name of the field or parameter that gets the value
   */
  of(schema: Schema, name: string, depth = 0): unknown {
    const random = this.#random;
    const known = this.#known(name, schema.$ref === undefined ? '' : lastOf(schema.$ref));
    if (known !== undefined) return known;
    if (schema.$ref !== undefined) return this.of(this.#schemas[lastOf(schema.$ref)] ?? {}, name, depth);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return random.pick(schema.enum);
    const branches = schema.oneOf ?? schema.anyOf;
    if (branches) return this.of(random.pick(branches), name, depth);
    if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => this.of(part, name, depth)));
    const type = typeof schema.type === 'object' ? random.pick(schema.type) : schema.type;
    if (type === 'object') return this.#object(schema, depth);
    if (type === 'array') return this.#array(schema, name, depth);
    if (type === 'string') return this.#text(schema);
    if (type === 'integer' || type === 'number') return this.#number(schema, type);
    if (type === 'boolean') return random.chance(0.5);
    if (type === 'null') return null;
    return schema.example !== undefined && random.chance(0.5) ? schema.example : this.#anything(depth);
  }

  /** Returns a copy of an example in which known ids replace the made-up ids. */
  like(example: unknown, name = ''): unknown {
    if (Array.isArray(example)) return example.map((item) => this.like(item, name));
    if (typeof example !== 'object' || example === null) return (typeof example === 'string' && this.#known(name, '')) || example;
    return Object.fromEntries(Object.entries(example).map(([key, value]) => [key, this.like(value, key)]));
  }

  #known(name: string, component: string): unknown {
    const random = this.#random;
    if (/wallet|publicKey/i.test(name) || component === 'Wallet') return this.#state.recall('wallet', random);
    if (/Id$/.test(name)) return random.chance(0.9) ? this.#state.recall(singular(name.slice(0, -2)), random) : undefined;
    if (component === 'Instant') return new Date(Date.now() + random.int(-3, 3) * random.pick([1_000, 3_600_000, 86_400_000])).toISOString();
    if (component === 'Day') return new Date(Date.now() - random.int(0, 400) * 86_400_000).toISOString().slice(0, 10);
    if (name === 'epoch' || name === 'code') return this.#state.recall(name, random);
    return undefined;
  }

  #object(schema: Schema, depth: number): Record<string, unknown> {
    const required = new Set(schema.required ?? []);
    const fields = Object.entries(schema.properties ?? {}).filter(([key]) => required.has(key) || (depth < MAX_DEPTH && this.#random.chance(0.5)));
    const made = Object.fromEntries(fields.map(([key, field]) => [key, this.of(field, key, depth + 1)]));
    const others = schema.additionalProperties ?? {};
    if (others === false || fields.length > 0) return made;
    const other = () => (typeof others === 'object' && Object.keys(others).length > 0 ? this.of(others, '', depth + 1) : this.#anything(depth + 1));
    return { ...made, ...Object.fromEntries(Array.from({ length: this.#random.int(0, 3) }, (_, i) => [`field${i}`, other()])) };
  }

  #array(schema: Schema, name: string, depth: number): unknown[] {
    const min = schema.minItems ?? 0;
    const max = Math.min(schema.maxItems ?? MAX_ITEMS, Math.max(min, MAX_ITEMS));
    const length = depth > MAX_DEPTH ? min : this.#random.int(min, max);
    return Array.from({ length }, () => this.of(schema.items ?? {}, name, depth + 1));
  }

  #text(schema: Schema): string {
    const random = this.#random;
    if (typeof schema.example === 'string' && random.chance(0.4)) return schema.example;
    if (schema.pattern !== undefined) return textMatching(schema.pattern, random);
    if (schema.format === 'uuid') return random.uuid();
    const min = schema.minLength ?? 1;
    const max = schema.maxLength ?? 40;
    const length = random.chance(0.1) ? random.pick([min, max]) : random.int(min, Math.min(max, min + 30));
    const text = Array.from({ length: 1 + Math.ceil(length / 2) }, () => random.pick(WORDS)).join(' ');
    return text.slice(0, length).toWellFormed().trim().padEnd(min, 'x');
  }

  #number(schema: Schema, type: 'integer' | 'number'): number {
    const random = this.#random;
    const min = schema.minimum ?? (schema.exclusiveMinimum === undefined ? 0 : schema.exclusiveMinimum + 1);
    const max = schema.maximum ?? Math.max(min, 1_000_000);
    if (random.chance(0.2)) return random.pick([min, max]);
    if (type === 'number') return Math.min(max, min + random.next() * random.pick([1, 10, 1_000]));
    return random.int(min, Math.min(max, min + random.pick([1, 10, 1_000, 1_000_000])));
  }

  #anything(depth: number): unknown {
    const random = this.#random;
    const kind = random.int(0, depth < MAX_DEPTH ? 6 : 3);
    if (kind === 0) return random.int(-1_000, 1_000);
    if (kind === 1) return random.pick(WORDS);
    if (kind === 2) return random.pick([null, true, false, 0.5]);
    if (kind <= 4) return random.uuid();
    if (kind === 5) return Array.from({ length: random.int(0, 3) }, () => this.#anything(depth + 1));
    return Object.fromEntries(Array.from({ length: random.int(0, 3) }, () => [random.text(5), this.#anything(depth + 1)]));
  }
}
