// SPDX-License-Identifier: MIT
// client PID CLSID LIBRARY [DATA]: attaches a profiler by Microsoft's own client, as any .NET program would.
// Prints "attached", or the exception and its HRESULT.
using System.Text;
using Microsoft.Diagnostics.NETCore.Client;

var client = new DiagnosticsClient(int.Parse(args[0]));
try
{
    client.AttachProfiler(TimeSpan.FromSeconds(30), Guid.Parse(args[1]), args[2],
        args.Length > 3 ? Encoding.UTF8.GetBytes(args[3]) : null);
    Console.WriteLine("attached");
    return 0;
}
catch (DiagnosticsClientException e)
{
    Console.WriteLine($"{e.GetType().Name} 0x{e.HResult:x8} {e.Message}");
    return 1;
}
