/**
 * Links an object file of clang's BPF target into an SBPF v3 program: two segments (read-only data at address 0, code at 2^32), system
 * calls by the hash of their names, no sections and no relocations. Rejects instructions that SBPF interprets differently from BPF.
 */

/** System calls that a program may use. Any other undefined symbol is an error. */
const SYSCALLS = new Set([
  'sol_invoke_signed_c',
  'sol_create_program_address',
  'sol_try_find_program_address',
  'sol_sha256',
  'sol_get_clock_sysvar',
  'sol_get_rent_sysvar',
]);

const SECTION_ALLOCATED = 2;
const SECTION_EXECUTABLE = 4;
const SECTION_RELA = 4;
const SECTION_REL = 9;
const SYMBOL_SECTION = 3;
const RELOCATE_ADDRESS = 1;
const RELOCATE_CALL = 10;

const INSTRUCTION_BYTES = 8;
const LOAD_ADDRESS = 0x18;

const HEADER_BYTES = 64;
const SEGMENT_HEADER_BYTES = 56;
const CODE_ADDRESS = 1n << 32n;
const SEGMENT_READABLE = 4;
const SEGMENT_EXECUTABLE = 1;

interface Section {
  readonly name: string;
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly size: number;
  readonly link: number;
  readonly info: number;
}

interface Symbol {
  readonly name: string;
  readonly kind: number;
  /** Index of the symbol's section; 0 for an undefined symbol. */
  readonly section: number;
  readonly value: number;
}

function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`the object has no ${what}`);
  return value;
}

const int64 = (object: Buffer, at: number) => Number(object.readBigUInt64LE(at));
const textAt = (object: Buffer, at: number) => object.toString('latin1', at, object.indexOf(0, at));

function sectionsOf(object: Buffer): Section[] {
  const at = (i: number) => int64(object, 40) + i * 64;
  const names = int64(object, at(object.readUInt16LE(62)) + 24);
  return Array.from({ length: object.readUInt16LE(60) }, (_, i) => ({
    name: textAt(object, names + object.readUInt32LE(at(i))),
    type: object.readUInt32LE(at(i) + 4),
    flags: int64(object, at(i) + 8),
    offset: int64(object, at(i) + 24),
    size: int64(object, at(i) + 32),
    link: object.readUInt32LE(at(i) + 40),
    info: object.readUInt32LE(at(i) + 44),
  }));
}

function symbolsOf(object: Buffer, sections: readonly Section[]): Symbol[] {
  const table = present(
    sections.find(({ name }) => name === '.symtab'),
    'symbol table',
  );
  const names = present(sections[table.link], 'symbol names').offset;
  return Array.from({ length: table.size / 24 }, (_, i) => {
    const at = table.offset + i * 24;
    return {
      name: textAt(object, names + object.readUInt32LE(at)),
      kind: object.readUInt8(at + 4) & 15,
      section: object.readUInt16LE(at + 6),
      value: int64(object, at + 8),
    };
  });
}

/** Returns the MurmurHash3 (32 bits, seed 0) of a name. The runtime identifies system calls by this hash. */
export function murmur3(name: string): number {
  const bytes = Buffer.from(name, 'latin1');
  const whole = bytes.length & ~3;
  const mix = (k: number) => {
    const a = Math.imul(k, 0xcc9e2d51);
    return Math.imul((a << 15) | (a >>> 17), 0x1b873593);
  };
  let h = 0;
  for (let i = 0; i < whole; i += 4) {
    h ^= mix(bytes.readInt32LE(i));
    h = (h << 13) | (h >>> 19);
    h = (Math.imul(h, 5) + 0xe6546b64) | 0;
  }
  if (whole < bytes.length) {
    h ^= mix(bytes.readUIntLE(whole, bytes.length - whole));
  }
  h ^= bytes.length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Rejects objects with code outside `.text`, with variables, or with relocations outside the code. */
function rejectUnsupportedSections(sections: readonly Section[], textIndex: number): void {
  for (const [i, section] of sections.entries()) {
    if (section.flags & SECTION_EXECUTABLE && i !== textIndex && section.size > 0)
      throw new Error(`the object has code outside .text: ${section.name}`);
    if (/^\.(?:data|bss)/.test(section.name) && section.size > 0) throw new Error(`the object has variables: ${section.name}`);
    const relocated = section.type === SECTION_REL || section.type === SECTION_RELA ? sections[section.info] : undefined;
    if (relocated && section.info !== textIndex && relocated.flags & SECTION_ALLOCATED)
      throw new Error(`the object has relocations in ${relocated.name}`);
  }
}

/**
 * Rejects instructions that SBPF interprets differently: 32-bit arithmetic (BPF clears the upper half of the result, SBPF v3 sign-extends
 * some results), 32-bit jumps, signed division and sign-extending loads. `-mcpu=v2` emits none of them; this check proves it.
 */
function rejectUnsupportedInstructions(text: Buffer): void {
  const alu64 = new Set([0x07, 0x0f, 0x17, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x47, 0x4f, 0x57, 0x5f, 0x67, 0x6f, 0x77, 0x7f]);
  for (const opcode of [0x87, 0x97, 0x9f, 0xa7, 0xaf, 0xb7, 0xbf, 0xc7, 0xcf]) alu64.add(opcode);
  const memory = new Set([0x61, 0x69, 0x71, 0x79, 0x62, 0x6a, 0x72, 0x7a, 0x63, 0x6b, 0x73, 0x7b]);
  const swap = 0xdc;
  for (let at = 0; at < text.length; at += INSTRUCTION_BYTES) {
    const opcode = text.readUInt8(at);
    const jump = (opcode & 7) === 5 && opcode < 0xe0 && ![0x0d, 0x8d, 0x9d].includes(opcode);
    const plain = alu64.has(opcode) ? text.readInt16LE(at + 2) === 0 : memory.has(opcode) || jump || opcode === swap;
    if (opcode === LOAD_ADDRESS) at += INSTRUCTION_BYTES;
    else if (!plain) throw new Error(`instruction 0x${opcode.toString(16)} at ${at / INSTRUCTION_BYTES} is interpreted differently by SBPF`);
  }
}

/** Concatenates the constants after 16 zero bytes, so that no constant has address 0. `placed` maps each section to its address. */
function placeConstants(object: Buffer, sections: readonly Section[]) {
  const parts = [Buffer.alloc(16)];
  const placed = new Map<number, number>();
  let end = 16;
  for (const [i, section] of sections.entries()) {
    if (!section.name.startsWith('.rodata') || section.size === 0) continue;
    placed.set(i, end);
    const bytes = Buffer.alloc(Math.ceil(section.size / 16) * 16);
    object.copy(bytes, 0, section.offset, section.offset + section.size);
    parts.push(bytes);
    end += bytes.length;
  }
  return { rodata: Buffer.concat(parts), placed };
}

function relocate(text: Buffer, at: number, type: number, symbol: Symbol, placed: ReadonlyMap<number, number>, textIndex: number): void {
  const immediate = at + 4;
  if (type === RELOCATE_CALL && symbol.section === 0) {
    if (!SYSCALLS.has(symbol.name)) throw new Error(`the symbol ${symbol.name} is undefined and not a system call`);
    text.writeUInt8(text.readUInt8(at + 1) & 0x0f, at + 1); // source register 0 marks a system call
    text.writeUInt32LE(murmur3(symbol.name), immediate);
    return;
  }
  if (type === RELOCATE_CALL && symbol.section === textIndex) {
    const within = symbol.kind === SYMBOL_SECTION ? text.readInt32LE(immediate) + 1 : 0;
    const target = symbol.value / INSTRUCTION_BYTES + within;
    text.writeInt32LE(target - at / INSTRUCTION_BYTES - 1, immediate);
    return;
  }
  const base = placed.get(symbol.section);
  if (type !== RELOCATE_ADDRESS || base === undefined) throw new Error(`the relocation type ${type} against ${symbol.name} is not supported`);
  text.writeUInt32LE(base + symbol.value + text.readUInt32LE(immediate), immediate);
  text.writeUInt32LE(0, at + 12);
}

function segment(flags: number, offset: number, address: bigint, size: number): Buffer {
  const header = Buffer.alloc(SEGMENT_HEADER_BYTES);
  header.writeUInt32LE(1);
  header.writeUInt32LE(flags, 4);
  for (const [i, value] of [BigInt(offset), address, address, BigInt(size), BigInt(size), 8n].entries()) header.writeBigUInt64LE(value, 8 + 8 * i);
  return header;
}

function fileHeader(entry: bigint): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('\x7fELF\x02\x01\x01', 'latin1');
  header.writeUInt16LE(3, 16); // type: shared object
  header.writeUInt16LE(247, 18); // machine: BPF
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(entry, 24);
  header.writeBigUInt64LE(BigInt(HEADER_BYTES), 32); // offset of the segment headers
  header.writeUInt32LE(3, 48); // SBPF version
  header.writeUInt16LE(HEADER_BYTES, 52);
  header.writeUInt16LE(SEGMENT_HEADER_BYTES, 54);
  header.writeUInt16LE(2, 56);
  header.writeUInt16LE(64, 58);
  return header;
}

/** Links an object file into a program. @throws when the object contains anything that SBPF v3 does not support */
export function link(object: Buffer): Buffer {
  const sections = sectionsOf(object);
  const symbols = symbolsOf(object, sections);
  const textIndex = sections.findIndex(({ name }) => name === '.text');
  const section = present(sections[textIndex], 'code');
  rejectUnsupportedSections(sections, textIndex);

  const text = Buffer.from(object.subarray(section.offset, section.offset + section.size));
  rejectUnsupportedInstructions(text);
  const { rodata, placed } = placeConstants(object, sections);
  const relocations = sections.find(({ type, info }) => type === SECTION_REL && info === textIndex);
  for (let i = 0; relocations && i < relocations.size; i += 16) {
    const at = relocations.offset + i;
    const symbol = present(symbols[object.readUInt32LE(at + 12)], 'such symbol');
    relocate(text, int64(object, at), object.readUInt32LE(at + 8), symbol, placed, textIndex);
  }

  const entry = present(
    symbols.find(({ name }) => name === 'entrypoint'),
    'entrypoint',
  );
  const start = HEADER_BYTES + 2 * SEGMENT_HEADER_BYTES;
  return Buffer.concat([
    fileHeader(CODE_ADDRESS + BigInt(entry.value)),
    segment(SEGMENT_READABLE, start, 0n, rodata.length),
    segment(SEGMENT_EXECUTABLE, start + rodata.length, CODE_ADDRESS, text.length),
    rodata,
    text,
  ]);
}
