import cuprous.torch as torch
import cuprous.torch.nn as nn
import cuprous.torch.optim as optim
import time
# Example 3: PyTorch on GPU

# Check for GPU availability
if torch.cuda.is_available():
    device = torch.device("cuda")
    print("GPU is available.")
else:
    device = torch.device("cpu")
    print("GPU is not available, using CPU.")


# Define a simple neural network
class SimpleNet(nn.Module):
    def __init__(self):
        super(SimpleNet, self).__init__()
        self.fc = nn.Linear(10, 2)  # Simple linear layer

    def forward(self, x):
        return self.fc(x)

# Instantiate model and move to the GPU if available
model = SimpleNet().to(device)

# Create random input data
input_tensor = torch.randn(100, 10).to(device)

# Define optimizer and criterion
optimizer = optim.Adam(model.parameters(), lr=0.01)
criterion = nn.MSELoss()
target = torch.randn(100, 2).to(device)

start_time = time.time()

# Simple training loop (no actual dataset)
for i in range(1000):
  optimizer.zero_grad()
  output = model(input_tensor)
  loss = criterion(output, target)
  loss.backward()
  optimizer.step()

gpu_time = time.time() - start_time
print(f"Training time on {device}: {gpu_time:.4f} seconds")
