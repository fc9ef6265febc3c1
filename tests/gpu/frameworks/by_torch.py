# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# PyTorch: forward, backward, an optimiser, and a captured graph.
import torch

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 16)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(64, 256, device="cuda"), torch.randint(0, 16, (64,), device="cuda")
for step in range(3):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
print(f"loss {loss.item():.5f}")
stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
with torch.no_grad():
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        model(x)
    torch.cuda.current_stream().wait_stream(stream)
    with torch.cuda.graph(graph):
        out = model(x)
    for _ in range(2):
        graph.replay()
torch.cuda.synchronize()
print(f"graph {out.sum().item():.4f}")
