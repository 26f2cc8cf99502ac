// SPDX-License-Identifier: MIT
using System.Runtime.InteropServices;
using System.Text;

namespace Shop.Archive;

/// <summary>The system's zlib, called directly.</summary>
static unsafe class Zip
{
  const string Library = "libz.so.1";
  const int Ok = 0, Level = 6;

  [DllImport(Library)]
  static extern nuint compressBound(nuint length);

  [DllImport(Library)]
  static extern int compress2(byte* to, nuint* toLength, byte* from, nuint length, int level);

  [DllImport(Library)]
  static extern int uncompress(byte* to, nuint* toLength, byte* from, nuint length);

  [DllImport(Library)]
  static extern nuint crc32(nuint crc, byte* data, uint length);

  public static string Archive(string text)
  {
    byte[] bytes = Encoding.UTF8.GetBytes(text);
    byte[] packed = Compress(bytes);
    byte[] back = Uncompress(packed, bytes.Length);
    if (Checksum(back) != Checksum(bytes))
      throw new InvalidDataException("the archive does not give back what went in");
    return $"{bytes.Length:N0} bytes in {packed.Length:N0}, checksum {Checksum(bytes):x8}";
  }

  static byte[] Compress(byte[] data)
  {
    var packed = new byte[compressBound((nuint)data.Length)];
    nuint length = (nuint)packed.Length;
    fixed (byte* to = packed, from = data)
      Expect(compress2(to, &length, from, (nuint)data.Length, Level));
    return packed[..(int)length];
  }

  static byte[] Uncompress(byte[] packed, int length)
  {
    var data = new byte[length];
    nuint got = (nuint)length;
    fixed (byte* to = data, from = packed)
      Expect(uncompress(to, &got, from, (nuint)packed.Length));
    return data;
  }

  static uint Checksum(byte[] data)
  {
    fixed (byte* p = data)
      return (uint)crc32(0, p, (uint)data.Length);
  }

  static void Expect(int result)
  {
    if (result != Ok)
      throw new InvalidDataException($"zlib failed with {result}");
  }
}
