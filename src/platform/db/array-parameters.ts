/** Encodes the values of one PostgreSQL type in its binary format. */
interface ElementType {
  /** Id of the type in `pg_type`. It is the same in each database. */
  readonly oid: number;
  /** Returns the number of bytes of a value; null for a value that is not encoded here. */
  size(value: unknown): number | null;
  write(value: unknown, to: Buffer, at: number): void;
}

const isInt = (value: unknown) => Number.isInteger(value) && Number(value) === (Number(value) | 0);
/** The first byte of a jsonb value: `jsonb_send` in src/backend/utils/adt/jsonb.c. */
const JSONB_VERSION = 1;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const sizeOfText = (value: unknown) => (typeof value === 'string' ? Buffer.byteLength(value) : null);

const TYPES: Readonly<Record<string, ElementType>> = {
  bool: { oid: 16, size: (value) => (typeof value === 'boolean' ? 1 : null), write: (value, to, at) => void to.writeUInt8(Number(value), at) },
  int: { oid: 23, size: (value) => (isInt(value) ? 4 : null), write: (value, to, at) => void to.writeInt32BE(Number(value), at) },
  int8: {
    oid: 20,
    size: (value) => (Number.isSafeInteger(value) ? 8 : null),
    write(value, to, at) {
      to.writeInt32BE(Math.floor(Number(value) / 2 ** 32), at);
      to.writeInt32BE(Number(value) | 0, at + 4);
    },
  },
  float8: { oid: 701, size: (value) => (typeof value === 'number' ? 8 : null), write: (value, to, at) => void to.writeDoubleBE(Number(value), at) },
  text: { oid: 25, size: sizeOfText, write: (value, to, at) => void to.write(String(value), at) },
  json: { oid: 114, size: sizeOfText, write: (value, to, at) => void to.write(String(value), at) },
  jsonb: {
    oid: 3802,
    size: (value) => (typeof value === 'string' ? 1 + Buffer.byteLength(value) : null),
    write: (value, to, at) => void to.write(String(value), to.writeUInt8(JSONB_VERSION, at)),
  },
  uuid: {
    oid: 2950,
    size: (value) => (typeof value === 'string' && UUID.test(value) ? 16 : null),
    write: (value, to, at) => void to.write(String(value).replaceAll('-', ''), at, 'hex'),
  },
};

const HEADER_BYTES = 12;
const DIMENSION_BYTES = 8;

/**
 * Returns an array in PostgreSQL's binary format. PostgreSQL reads it in half the time of the text that node-postgres sends. Returns the array itself if
 * one of its values is not encoded here, for example a date. Format: `array_send` in src/backend/utils/adt/arrayfuncs.c of PostgreSQL.
 */
function encode(type: ElementType, values: readonly unknown[]): Buffer | readonly unknown[] {
  const dimensions = values.length === 0 ? 0 : 1;
  const sizes: number[] = [];
  let bytes = HEADER_BYTES + dimensions * DIMENSION_BYTES;
  for (const value of values) {
    const size = value === null ? -1 : type.size(value);
    if (size === null) return values;
    sizes.push(size);
    bytes += 4 + Math.max(0, size);
  }
  const encoded = Buffer.allocUnsafe(bytes);
  let at = 0;
  const writeInt = (value: number) => {
    at = encoded.writeInt32BE(value, at);
  };
  writeInt(dimensions);
  writeInt(sizes.includes(-1) ? 1 : 0);
  writeInt(type.oid);
  if (dimensions === 0) return encoded;
  writeInt(values.length);
  // The lower bound of the array.
  writeInt(1);
  for (const [i, size] of sizes.entries()) {
    writeInt(size);
    if (size < 0) continue;
    type.write(values[i], encoded, at);
    at += size;
  }
  return encoded;
}

/**
 * Returns a function that encodes the arrays among the values of a statement. An array is encoded if the statement casts its parameter to an array type of
 * `TYPES`, for example `$1::uuid[]`, wherever it names the parameter.
 * @param text the SQL of the statement
 */
export function arrayEncoder(text: string): (values: readonly unknown[]) => unknown[] {
  const types = new Map<number, ElementType | undefined>();
  for (const [, parameter, cast = ''] of text.matchAll(/\$(\d+)(?:::(\w+)\[\])?/g)) {
    const index = Number(parameter) - 1;
    const type = TYPES[cast];
    types.set(index, types.has(index) && types.get(index) !== type ? undefined : type);
  }
  return (values) => {
    const encoded: unknown[] = [];
    for (const [i, value] of values.entries()) {
      const type = Array.isArray(value) ? types.get(i) : undefined;
      encoded.push(type && Array.isArray(value) ? encode(type, value) : value);
    }
    return encoded;
  };
}
