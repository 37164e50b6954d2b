import type { Random } from '../random.ts';

/**
 * Returns random text that matches a regular expression. Supports only the syntax that the OpenAPI document uses: no look-around and no back
 * references.
 */
export function textMatching(pattern: string, random: Random): string {
  const parser = new Parser(pattern, random);
  const text = parser.alternatives();
  if (!parser.isDone) throw new Error(`unsupported syntax in pattern ${pattern}`);
  return text();
}

type Make = () => string;

const ESCAPED: Readonly<Record<string, string>> = { d: '0123456789', w: 'abcXYZ019_', s: ' ' };
/** Maximum repetitions that are generated for a part of the pattern that may be repeated without limit (for example `a*`). */
const MAX_REPEATS = 8;

/** Parses a pattern into functions that generate text. */
class Parser {
  readonly #pattern: string;
  readonly #random: Random;
  #at = 0;

  constructor(pattern: string, random: Random) {
    this.#pattern = pattern;
    this.#random = random;
  }

  get isDone(): boolean {
    return this.#at === this.#pattern.length;
  }

  alternatives(): Make {
    const branches = [this.#sequence()];
    while (this.#take('|')) branches.push(this.#sequence());
    return () => this.#random.pick(branches)();
  }

  #sequence(): Make {
    const parts: Make[] = [];
    while (!this.isDone && this.#pattern[this.#at] !== '|' && this.#pattern[this.#at] !== ')') {
      if (this.#take('^') || this.#take('$')) continue;
      parts.push(this.#repeated(this.#atom()));
    }
    return () => parts.map((make) => make()).join('');
  }

  #repeated(make: Make): Make {
    let min = 1;
    let max = 1;
    const counted = /^\{(\d+)(,?)(\d*)\}/.exec(this.#pattern.slice(this.#at));
    if (counted) {
      this.#at += counted[0].length;
      min = Number(counted[1]);
      max = counted[2] === '' ? min : counted[3] === '' ? min + MAX_REPEATS : Number(counted[3]);
    } else if (this.#take('?')) min = 0;
    else if (this.#take('*')) [min, max] = [0, MAX_REPEATS];
    else if (this.#take('+')) max = MAX_REPEATS;
    return () => Array.from({ length: this.#random.chance(0.1) ? max : this.#random.int(min, Math.min(max, min + MAX_REPEATS)) }, make).join('');
  }

  #atom(): Make {
    if (this.#take('(?:') || this.#take('(')) {
      const inner = this.alternatives();
      if (!this.#take(')')) throw new Error(`${this.#pattern} has an unclosed group`);
      return inner;
    }
    const alphabet = this.#take('[') ? this.#class() : this.#take('.') ? 'aZ0 -é' : this.#character();
    return () => this.#random.pick([...alphabet]);
  }

  #class(): string {
    let alphabet = '';
    while (!this.#take(']')) {
      const from = this.#character();
      if (from.length === 1 && this.#pattern[this.#at] === '-' && this.#pattern[this.#at + 1] !== ']') {
        this.#at++;
        const to = this.#character();
        for (let code = from.charCodeAt(0); code <= to.charCodeAt(0); code++) alphabet += String.fromCharCode(code);
      } else alphabet += from;
    }
    return alphabet;
  }

  /** Reads one character of the pattern. For an escape, returns all characters that the escape may stand for. */
  #character(): string {
    const c = this.#pattern[this.#at++] ?? '';
    if (c !== '\\') return c;
    const escaped = this.#pattern[this.#at++] ?? '';
    if (escaped !== 'x') return ESCAPED[escaped] ?? escaped;
    const code = this.#pattern.slice(this.#at, this.#at + 2);
    this.#at += 2;
    return String.fromCharCode(Number.parseInt(code, 16));
  }

  #take(text: string): boolean {
    if (!this.#pattern.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }
}
